package trace_test

import (
	"context"
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
