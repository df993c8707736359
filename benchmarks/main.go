// Command benchmarks measures Sluice beside other limiters, on the same work in
// one run, and prints the result as Markdown.
//
//	make benchmarks
//
// Absolute figures are those of one machine in one hour; what counts is the
// ratios. Contenders take turns in each round, and the table has the medians. A
// contender that grants more or less than the limit allows is shown with what it
// granted.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"
)

func main() {
	rounds := flag.Int("rounds", 6, "how often each contender is measured")
	length := flag.Duration("length", time.Second, "how long each measurement takes")
	flag.Parse()
	if err := run(*rounds, *length); err != nil {
		fmt.Fprintln(os.Stderr, "benchmarks:", err)
		os.Exit(1)
	}
}

func run(rounds int, length time.Duration) error {
	server, err := startRedis()
	if err != nil {
		return err
	}
	defer server.stop()
	fmt.Printf("%s, %d processors, %s, %s\n\n", runtime.Version(), runtime.GOMAXPROCS(0), server.version, time.Now().UTC().Format("2006-01-02"))
	costs, err := serverCosts(server.addr, rounds)
	if err != nil {
		return err
	}
	fmt.Println(costs)
	for _, s := range scenarios {
		t, err := s.measure(server.addr, rounds, length)
		if err != nil {
			return err
		}
		fmt.Println(t)
	}
	return nil
}

// redisServer is a server of the run's own.
type redisServer struct {
	addr, version string
	cmd           *exec.Cmd
	dir           string
}

func (s *redisServer) stop() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
	_ = os.RemoveAll(s.dir)
}

func startRedis() (*redisServer, error) {
	program, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, fmt.Errorf("%w: make benchmarks gets one", err)
	}
	version, err := exec.Command(program, "--version").Output()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "sluice-benchmarks-")
	if err != nil {
		return nil, err
	}
	s := &redisServer{dir: dir}
	if s.addr, err = freeAddr(); err != nil {
		return nil, err
	}
	if _, err := fmt.Sscanf(string(version), "Redis server v=%s", &s.version); err != nil {
		return nil, err
	}
	s.version = "Redis " + s.version
	s.cmd = exec.Command(program, "--port", port(s.addr), "--bind", "127.0.0.1", "--save", "", "--dir", dir, "--logfile", filepath.Join(dir, "log"))
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	return s, awaitRedis(s.addr)
}
