package proxy_test

import (
	"context"
	"errors"
	"testing"

	"github.com/sluice-go/sluice/proxy"
	"github.com/sluice-go/sluice/proxy/memory"
)

var errClosedToday = errors.New("closed today")

// closedToday refuses everything, and has the methods of a backend in memory.
type closedToday struct{ *memory.Backend }

func (closedToday) Do(_ context.Context, ds []proxy.Decision) {
	for i := range ds {
		ds[i].Err = errClosedToday
	}
}

// The short way of a backend goes past a wrapper that embeds it, so it is not taken.
func TestShortWayIsNotInherited(t *testing.T) {
	m, err := proxy.NewManager(closedToday{memory.New()})
	if err != nil {
		t.Fatal(err)
	}
	if ok, err := m.Bucket("k", hundred).TryConsume(t.Context(), 1); ok || !errors.Is(err, errClosedToday) {
		t.Errorf("got %t, %v; want the wrapper's error", ok, err)
	}
}
