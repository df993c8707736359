// Command timelines shows what buckets do over time. It runs real buckets on a
// clock that it moves by hand, draws what happened, and fills in the tables of
// docs/bandwidths.md.
//
//	go run ./internal/timelines [-docs dir]
//
// All of it is integers, so that every machine makes the same bytes; a test
// holds the committed files against what the program makes now.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	docs := flag.String("docs", "docs", "where the pictures and the page with the tables are")
	flag.Parse()
	if err := run(*docs); err != nil {
		fmt.Fprintln(os.Stderr, "timelines:", err)
		os.Exit(1)
	}
}

func run(docs string) error {
	files, err := files(docs)
	if err != nil {
		return err
	}
	for _, f := range files {
		path := filepath.Join(docs, f.name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, f.content, 0o644); err != nil {
			return err
		}
		fmt.Println(path)
	}
	return nil
}

// file is what the program makes of one file, named from the docs.
type file struct {
	name    string
	content []byte
}

func files(docs string) ([]file, error) {
	page, err := os.ReadFile(filepath.Join(docs, "bandwidths.md"))
	if err != nil {
		return nil, err
	}
	if page, err = fill(page); err != nil {
		return nil, err
	}
	made := []file{{"bandwidths.md", page}, {"img/first-minute.svg", drawMinutes()}}
	for _, s := range stories {
		made = append(made, file{"img/" + s.name + ".svg", s.draw()})
	}
	return made, nil
}
