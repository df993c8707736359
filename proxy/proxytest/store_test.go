package proxytest_test

import (
	"bytes"
	"context"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/expiration"
	"github.com/sluice-go/sluice/proxy"
	"github.com/sluice-go/sluice/proxy/proxytest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestStore is the suite on the simplest store that can be, shared by processes
// with clocks of their own. In a child process of TestSuiteCatchesFaults it has a
// fault.
func TestStore(t *testing.T) {
	open := sound
	if fault, ok := faults[os.Getenv(faultVariable)]; ok {
		open = fault.store
	}
	shared := table{rows: map[string]row{}}
	proxytest.Run(t, proxytest.Factory{
		Open: func(_ *testing.T, c proxytest.Clock) proxy.Backend {
			s := &store{table: &shared, now: c.Now, lead: c.Skew.Microseconds()}
			if c.Now == nil {
				s.now = time.Now
			}
			return open(s)
		},
		Put: func(_ *testing.T, key string, b []byte) {
			shared.mu.Lock()
			defer shared.mu.Unlock()
			shared.rows[key] = row{bytes: b, revision: -1, until: 1<<63 - 1}
		},
	})
}

// table is what a database would be.
type table struct {
	mu     sync.Mutex
	rows   map[string]row
	writes int
}

type row struct {
	bytes    []byte
	revision int
	until    int64
}

// store is a client of the table.
type store struct {
	*table
	now  func() time.Time
	lead int64
}

var _ proxy.Store = (*store)(nil)

func (s *store) Load(_ context.Context, key string) (proxy.Stored, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.load(key), nil
}

func (s *store) load(key string) proxy.Stored {
	now := s.now().UnixMicro()
	stored := proxy.Stored{At: bucket.Moment{Now: now, Tick: bucket.Microsecond, Lead: s.lead}}
	if r, ok := s.rows[key]; ok && now < r.until {
		stored.Bytes, stored.Revision = slices.Clone(r.bytes), r.revision
	}
	return stored
}

func (s *store) Swap(_ context.Context, key string, was proxy.Stored, next []byte, life expiration.Life) (proxy.Stored, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.load(key)
	if now.Revision != was.Revision || !bytes.Equal(now.Bytes, was.Bytes) {
		return now, false, nil
	}
	if next == nil {
		delete(s.rows, key)
		return now, true, nil
	}
	s.writes++
	s.rows[key] = row{bytes: slices.Clone(next), revision: s.writes, until: life.Until(was.At.Now)}
	return now, true, nil
}

func (s *store) Close() error { return nil }
