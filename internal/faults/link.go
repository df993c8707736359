package faults

import (
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-go/sluice/internal/redistest"
)

// Link stands between clients and a server: a TCP proxy that delays replies and cuts connections. It is safe for
// concurrent use and ends with its test.
type Link struct {
	addr  string
	delay atomic.Int64

	mu     sync.Mutex
	random *rand.Rand
	share  float64 // of the pieces of traffic at which a connection is cut
	cuts   int     // still to be made
}

// NewLink returns a link to the server at an address.
func NewLink(t testing.TB, server string) *Link {
	t.Helper()
	l := new(Link)
	l.addr = redistest.Relay(t, server, l.join)
	return l
}

// Addr is where clients connect, as host:port.
func (l *Link) Addr() string { return l.addr }

// Delay makes every reply that comes from now on arrive later by d. Replies on one connection do not hold each other
// back: it is the length of a round trip, not its rate.
func (l *Link) Delay(d time.Duration) { l.delay.Store(int64(d)) }

// Cut makes the link cut a connection at the given share of all pieces of traffic, requests and replies, which are
// then lost; it does so most times, and the same for the same seed as far as traffic is. A share of 0 ends it.
func (l *Link) Cut(seed uint64, share float64, most int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.random, l.share, l.cuts = rand.New(rand.NewPCG(seed, 0)), share, most
}

func (l *Link) join(down, up net.Conn) {
	var both sync.WaitGroup
	both.Go(func() { l.carry(up, down, new(atomic.Int64)) })
	both.Go(func() { l.carry(down, up, &l.delay) })
	both.Wait()
}

// piece is what was read at once. Small commands and replies come in one.
type piece struct {
	bytes []byte
	due   time.Time
}

// carry passes on what comes, in order, until an end closes or the link is cut.
func (l *Link) carry(to, from net.Conn, delay *atomic.Int64) {
	pieces := make(chan piece, 1024)
	var reader sync.WaitGroup
	defer reader.Wait()
	reader.Go(func() {
		defer close(pieces)
		for {
			b := make([]byte, 16<<10)
			n, err := from.Read(b)
			if err != nil || l.cut() {
				return
			}
			pieces <- piece{b[:n], time.Now().Add(time.Duration(delay.Load()))}
		}
	})
	for p := range pieces {
		time.Sleep(time.Until(p.due))
		_, _ = to.Write(p.bytes) // if that end is closed, so is the other soon
	}
	_ = to.Close()
	_ = from.Close()
}

func (l *Link) cut() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cuts == 0 || l.random.Float64() >= l.share {
		return false
	}
	l.cuts--
	return true
}
