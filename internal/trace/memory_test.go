package trace_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/expiration"
	"github.com/sluice-go/sluice/internal/trace"
	"github.com/sluice-go/sluice/proxy"
	"github.com/sluice-go/sluice/proxy/memory"
)

func TestMemory(t *testing.T) {
	run(t, trace.Subject{
		Name: "memory",
		Tick: bucket.Microsecond,
		New: func(s trace.Start) (trace.Target, error) {
			target := &memoryTarget{}
			target.backend = memory.New(memory.WithClock(target.clock))
			return target, nil
		},
	})
}

// A take that asks for no more than yes or no has a shorter way, which goes on
// where the other operations are and leaves what they would.
func TestMemoryTakes(t *testing.T) {
	run(t, trace.Subject{
		Name: "memory, by the short way",
		Tick: bucket.Microsecond,
		New: func(s trace.Start) (trace.Target, error) {
			target := &takingTarget{}
			target.backend = memory.New(memory.WithClock(target.clock))
			target.twin.backend = memory.New(memory.WithClock(target.twin.clock))
			return target, nil
		},
	})
}

// takingTarget takes by the short way; what that does not tell, a twin does.
type takingTarget struct {
	memoryTarget
	twin memoryTarget
}

func (m *takingTarget) Do(req bucket.Request, rule expiration.Rule, now int64) (bucket.Result, error) {
	want, err := m.twin.Do(req, rule, now)
	if req.Op.Kind != bucket.OpConsume || req.Op.Tokens < 1 {
		return m.memoryTarget.Do(req, rule, now)
	}
	m.now = now
	took, failed := m.backend.TryConsume("key", req.Config, req.Op.Tokens, req.StoredRules, rule)
	if took != want.Consumed || (failed == nil) != (err == nil) {
		return want, fmt.Errorf("a take of %d: %v, %v; want %v, %v", req.Op.Tokens, took, failed, want.Consumed, err)
	}
	return want, err
}

type memoryTarget struct {
	backend *memory.Backend
	now     int64
}

func (m *memoryTarget) clock() time.Time { return time.UnixMicro(m.now) }

func (m *memoryTarget) Do(req bucket.Request, rule expiration.Rule, now int64) (bucket.Result, error) {
	m.now = now
	d := decision("key", req, rule)
	m.backend.Do(context.Background(), d)
	return d[0].Results[0], d[0].Err
}

// Forget does nothing: the backend forgets by itself.
func (m *memoryTarget) Forget(int64) error { return nil }

func decision(key string, req bucket.Request, rule expiration.Rule) []proxy.Decision {
	return []proxy.Decision{{
		Charges: []proxy.Charge{{Key: key, Request: req, Rule: rule}},
		Results: make([]bucket.Result, 1),
	}}
}
