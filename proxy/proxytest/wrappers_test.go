package proxytest_test

import (
	"testing"
	"time"

	"github.com/sluice-go/sluice/proxy"
	"github.com/sluice-go/sluice/proxy/codec"
	"github.com/sluice-go/sluice/proxy/memory"
	"github.com/sluice-go/sluice/proxy/proxytest"
)

// A wrapper changes no answer of a store that is well.
func TestWrappers(t *testing.T) {
	for name, wrap := range map[string]func(proxy.Backend) proxy.Backend{
		"coalesce":  proxy.Coalesce,
		"allow":     proxy.AllowOnFailure,
		"deny":      proxy.DenyOnFailure,
		"fall back": func(b proxy.Backend) proxy.Backend { return proxy.FallBack(b, memory.New()) },
		"all": func(b proxy.Backend) proxy.Backend {
			return proxy.AllowOnFailure(proxy.FallBack(proxy.Coalesce(b), memory.New()))
		},
	} {
		t.Run(name, func(t *testing.T) {
			shared := table{rows: map[string]row{}}
			proxytest.Run(t, proxytest.Factory{
				Open: func(_ *testing.T, c proxytest.Clock) proxy.Backend {
					s := &store{table: &shared, now: c.Now, lead: c.Skew.Microseconds()}
					if c.Now == nil {
						s.now = time.Now
					}
					return wrap(proxy.CompareAndSwap(s, codec.MessagePack{}))
				},
			})
		})
	}
}

// Nor does one that remembers, as long as all goes through it.
func TestRememberedDenials(t *testing.T) {
	for name, wrap := range map[string]func(proxy.Backend) proxy.Backend{
		"alone": func(b proxy.Backend) proxy.Backend { return b },
		"inside of others": func(b proxy.Backend) proxy.Backend {
			return proxy.AllowOnFailure(proxy.FallBack(proxy.Coalesce(b), memory.New()))
		},
	} {
		t.Run(name, func(t *testing.T) {
			proxytest.Run(t, proxytest.Factory{
				InProcess: true,
				Open: func(_ *testing.T, c proxytest.Clock) proxy.Backend {
					if c.Now == nil {
						return wrap(proxy.CacheDenials(memory.New(), time.Hour))
					}
					b := memory.New(memory.WithClock(c.Now))
					return wrap(proxy.CacheDenials(b, time.Hour, proxy.WithDenialClock(c.Now)))
				},
			})
		})
	}
}
