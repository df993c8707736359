package faults_test

import (
	"flag"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-go/sluice/internal/faults"
	"github.com/sluice-go/sluice/internal/redistest"
	"github.com/sluice-go/sluice/proxy"
	"github.com/sluice-go/sluice/proxy/redis"
)

var rivals = flag.Int("faults.callers", 50, "callers of one key far away")

// contended is the deadline of calls that compete for one key.
const contended = 30 * time.Second

// C10: many callers on one key far away, in compare-and-swap mode with and without coalescing, beside Lua.
func TestC10ManyCallersOnOneKey(t *testing.T) {
	const roundTrip = 10 * time.Millisecond
	callers, tokens := *rivals, int64(*rivals*3/4)
	link := faults.NewLink(t, redistest.Start(t).Addr())
	link.Delay(roundTrip)
	fmt.Printf("%d callers, %d tokens, a round trip of %v\n\n| client | mode | granted | errors | all after | calls a second |\n|---|---|---|---|---|---|\n",
		callers, tokens, roundTrip)
	for _, library := range faults.Libraries {
		c, err := library.Dial(link.Addr(), faults.Settings{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		for _, mode := range []struct {
			name    string
			options []redis.Option
		}{
			{"Lua", nil},
			{"Lua, no coalescing", []redis.Option{redis.WithoutCoalescing()}},
			{"compare-and-swap", []redis.Option{redis.WithCompareAndSwap()}},
			{"compare-and-swap, no coalescing", []redis.Option{redis.WithCompareAndSwap(), redis.WithoutCoalescing()}},
		} {
			t.Run(library.Name+"/"+mode.name, func(t *testing.T) {
				m := manager(t, c.Backend(mode.options...), redistest.Prefix(t))
				granted, errors, took := rush(t, m, callers, tokens)
				fmt.Printf("| %s | %s | %d | %d | %v | %.0f |\n",
					library.Name, mode.name, granted, errors, took.Round(time.Millisecond), float64(callers)/took.Seconds())
				if granted != tokens || errors > 0 {
					t.Errorf("%d granted, %d errors; want %d and none", granted, errors, tokens)
				}
			})
		}
	}
}

func manager(t *testing.T, b proxy.Backend, prefix string) *proxy.Manager {
	t.Helper()
	m, err := proxy.NewManager(b, proxy.WithKeyPrefix(prefix), proxy.WithTimeout(contended))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// rush has all callers take a token of one new bucket at once.
func rush(t *testing.T, m *proxy.Manager, callers int, tokens int64) (granted, errors int64, took time.Duration) {
	t.Helper()
	b := m.Bucket("k", perDay(tokens))
	if _, err := b.Available(t.Context()); err != nil { // connected
		t.Fatal(err)
	}
	var yes, failed atomic.Int64
	var wg sync.WaitGroup
	begun := time.Now()
	for range callers {
		wg.Go(func() {
			switch ok, err := b.TryConsume(t.Context(), 1); {
			case err != nil:
				t.Log(err)
				failed.Add(1)
			case ok:
				yes.Add(1)
			}
		})
	}
	wg.Wait()
	return yes.Load(), failed.Load(), time.Since(begun)
}
