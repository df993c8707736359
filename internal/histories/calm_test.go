package histories_test

import (
	"testing"
	"time"

	"github.com/sluice-go/sluice/internal/redistest"
)

func TestCalmHistories(t *testing.T) {
	s := serve(t, redistest.Start(t).Addr())
	p := progress{t: t, begun: time.Now()}
	for i := range *calm {
		h := s.history(t, *seed+uint64(i), patience)
		h.Play(nil)
		if err := h.Check(); err != nil {
			t.Fatal(err)
		}
		c := h.Count()
		if c.Failed+c.Unknown > 0 {
			t.Fatalf("seed %d: %v, though nothing was in the way", *seed+uint64(i), c)
		}
		p.add(c, i == *calm-1)
	}
}
