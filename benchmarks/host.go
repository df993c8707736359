package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
)

// machine tells what the figures were measured on.
func machine() string {
	return fmt.Sprintf("%d processors (%s), %s, %s/%s", runtime.GOMAXPROCS(0), processorModel(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

func processorModel() string {
	file, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return "of an unknown kind"
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if name, model, _ := strings.Cut(lines.Text(), ":"); strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(model)
		}
	}
	return "of an unknown kind"
}

// modules are what is measured beside Sluice and the clients below both, with versions.
var modules = []string{
	"golang.org/x/time", "go.uber.org/ratelimit", "github.com/juju/ratelimit", "github.com/sethvargo/go-limiter",
	"github.com/sethvargo/go-redisstore", "github.com/ulule/limiter/v3", "github.com/throttled/throttled/v2",
	"github.com/go-chi/httprate", "github.com/go-chi/httprate-redis", "github.com/go-redis/redis_rate/v10",
	"github.com/redis/go-redis/v9", "github.com/redis/rueidis", "github.com/gomodule/redigo",
}

func versions() (all []string) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return []string{"unknown"}
	}
	for _, m := range info.Deps {
		if slices.Contains(modules, m.Path) {
			all = append(all, m.Path+" "+m.Version)
		}
	}
	return all
}

// kinds of server are measured where they can be had: the one on PATH, and the others from the images of the
// integration suite.
const (
	redis7  = "Redis 7.0"
	redis8  = "Redis 8.0"
	valkey8 = "Valkey 8.1"
)

var kinds = []string{redis7, redis8, valkey8}

// serverOf starts a server of a kind.
func serverOf(kind string, own *owner) (*server, error) {
	if kind == redis8 || kind == valkey8 {
		dir, err := unpack(strings.ToLower(strings.ReplaceAll(kind, " ", ":")))
		if err != nil {
			return nil, err
		}
		path := os.Getenv("PATH")
		defer os.Setenv("PATH", path)
		os.Setenv("PATH", dir+string(filepath.ListSeparator)+path)
	}
	s, err := startServer(own)
	if err == nil && !strings.HasPrefix(s.name, kind) {
		err = fmt.Errorf("this is %s", s.name)
	}
	return s, err
}

// unpack returns a directory with the server of an image, which is built if need be.
func unpack(image string) (string, error) {
	build := exec.Command("scripts/images/build", image)
	build.Stdout, build.Stderr = os.Stderr, os.Stderr
	if err := build.Run(); err != nil {
		return "", err
	}
	dir, err := exec.Command("scripts/unpack-image", "sluice-test/"+image).Output()
	return strings.TrimSpace(string(dir)), err
}
