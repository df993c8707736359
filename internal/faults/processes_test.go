package faults_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sluice-go/sluice/internal/faults"
	"github.com/sluice-go/sluice/internal/redistest"
	"github.com/sluice-go/sluice/proxy"
	"github.com/sluice-go/sluice/proxy/redis"
)

// What a child process is told: the server, the prefix of the keys, and its number.
const childVariable = "SLUICE_TAKING_CHILD"

// rival is a process that takes from the same bucket as others, from the word go until its input ends.
type rival struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	ready   atomic.Bool
	ended   atomic.Bool
	granted atomic.Int64
	fault   string // what it said that it should not
}

// C10: processes that compare and swap on one key do not starve each other, and lose no update. They take until they
// have had many tokens together and each has had one.
func TestC10ProcessesDoNotStarveEachOther(t *testing.T) {
	const processes, enough = 16, 1600
	server := redistest.Start(t)
	prefix := redistest.Prefix(t)
	told := make(chan struct{}, 1)
	rivals := make([]*rival, processes)
	var all sync.WaitGroup
	for i := range rivals {
		rivals[i] = compete(t, fmt.Sprint(server.Addr(), " ", prefix, " ", i), told, &all)
	}
	await(told, rivals, func(r *rival) bool { return r.ready.Load() })
	for _, r := range rivals {
		_, _ = fmt.Fprintln(r.in, "go") // one that has ended is told of below
	}
	await(told, rivals, func(r *rival) bool { return r.granted.Load() > 0 && sum(rivals) >= enough })
	for _, r := range rivals {
		_ = r.in.Close() // likewise
	}
	all.Wait()

	var shares []string
	for i, r := range rivals {
		n := r.granted.Load()
		shares = append(shares, strconv.FormatInt(n, 10))
		if err := r.cmd.Wait(); err != nil || n == 0 || r.fault != "" {
			t.Errorf("process %d: %d granted, %q, %v", i, n, r.fault, err)
		}
	}
	fmt.Printf("shares of %d processes in compare-and-swap mode: %s\n", processes, strings.Join(shares, " "))

	c, err := faults.Libraries[0].Dial(server.Addr(), faults.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	left, err := manager(t, c.Backend(), prefix).Bucket("k", plentiful).Available(t.Context())
	if err != nil || plenty-left != sum(rivals) {
		t.Errorf("%d tokens are gone, %v; %d were granted", plenty-left, err, sum(rivals))
	}
}

// await waits until something holds for each rival, or one has ended too early.
func await(told <-chan struct{}, rivals []*rival, holds func(*rival) bool) {
	for range told {
		if slices.ContainsFunc(rivals, func(r *rival) bool { return r.ended.Load() }) ||
			!slices.ContainsFunc(rivals, func(r *rival) bool { return !holds(r) }) {
			return
		}
	}
}

func sum(rivals []*rival) (n int64) {
	for _, r := range rivals {
		n += r.granted.Load()
	}
	return n
}

// compete starts a rival, and tells whenever there is something new.
func compete(t *testing.T, with string, told chan<- struct{}, all *sync.WaitGroup) *rival {
	t.Helper()
	r := &rival{cmd: exec.Command(os.Args[0])}
	r.cmd.Env = append(os.Environ(), childVariable+"="+with)
	in, err := r.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	r.in = in
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	tell := func() {
		select {
		case told <- struct{}{}:
		default: // there is something new already
		}
	}
	all.Go(func() {
		for lines := bufio.NewScanner(out); lines.Scan(); tell() {
			r.hear(lines.Text())
		}
		r.ended.Store(true)
		tell()
	})
	return r
}

func (r *rival) hear(line string) {
	switch line {
	case "ready":
		r.ready.Store(true)
	case "granted":
		r.granted.Add(1)
	default:
		r.fault = line
	}
}

// takeAsChild makes this process a rival, whose tests do not run.
func takeAsChild(with string) error {
	var addr, prefix string
	var number int
	if _, err := fmt.Sscan(with, &addr, &prefix, &number); err != nil {
		return err
	}
	c, err := faults.Libraries[number%2].Dial(addr, faults.Settings{})
	if err != nil {
		return err
	}
	defer c.Close()
	m, err := proxy.NewManager(c.Backend(redis.WithCompareAndSwap()), proxy.WithKeyPrefix(prefix), proxy.WithTimeout(contended))
	if err != nil {
		return err
	}
	b := m.Bucket("k", plentiful)
	if _, err := b.Available(context.Background()); err != nil { // connected
		return err
	}
	fmt.Println("ready")
	in := bufio.NewScanner(os.Stdin)
	in.Scan()
	var stop atomic.Bool
	go func() {
		in.Scan() // until the end
		stop.Store(true)
	}()
	for !stop.Load() {
		ok, err := b.TryConsume(context.Background(), 1)
		if err != nil || !ok {
			return fmt.Errorf("granted %t, %v", ok, err)
		}
		fmt.Println("granted")
	}
	return nil
}
