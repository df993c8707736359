package main

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/netip"
	"strconv"
	"time"

	"github.com/sluice-go/sluice/bandwidth"
	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/proxy"
)

// The two tiers. Every key holder and every address has a bucket of its own.
var (
	keyHolder = bucket.MustConfiguration(bandwidth.Must(bandwidth.New(120, bandwidth.Greedy(100, time.Minute))))
	stranger  = bucket.MustConfiguration(bandwidth.Must(bandwidth.New(20, bandwidth.Greedy(20, time.Minute))))
)

// limiter lets callers through as often as their tier allows.
type limiter struct {
	buckets *proxy.Manager
	known   map[digest]bool // of the API keys
	proxies prefixes        // whose X-Forwarded-For is believed
}

type digest = [sha256.Size]byte

func newLimiter(buckets *proxy.Manager, apiKeys []string, proxies []netip.Prefix) *limiter {
	l := &limiter{buckets, map[digest]bool{}, proxies}
	for _, key := range apiKeys {
		l.known[sha256.Sum256([]byte(key))] = true
	}
	return l
}

// limit puts the limiter before a handler: each request costs its caller one
// token. An error is for a store in trouble, unless -on-failure says otherwise.
func (l *limiter) limit(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		probe, err := l.bucket(r).Consume(r.Context(), 1)
		switch {
		case err != nil:
			answer(w, http.StatusServiceUnavailable, unavailable{"rate limiter unavailable"})
		case probe.Consumed:
			if probe.Measured() { // not so if the store is in trouble and everybody is served
				w.Header().Set("X-Rate-Limit-Remaining", strconv.FormatInt(probe.RemainingTokens, 10))
			}
			next.ServeHTTP(w, r)
		default:
			refuse(w, probe)
		}
	})
}

// bucket is what a request draws on. A key that is not listed makes its sender
// a stranger like any other: made-up keys do not get buckets of their own. The
// words before the names keep the two kinds apart.
//
// A key is looked up and stored as its digest: store and log do not give it away
// (unless it is short enough to guess), and neither does the time of a look-up.
func (l *limiter) bucket(r *http.Request) bucket.Bucket {
	key := sha256.Sum256([]byte(r.Header.Get("X-Api-Key")))
	if l.known[key] {
		return l.buckets.Bucket("key:"+hex.EncodeToString(key[:]), keyHolder)
	}
	return l.buckets.Bucket("address:"+addressKey(clientAddress(r, l.proxies)), stranger)
}

// refuse tells when to come back.
func refuse(w http.ResponseWriter, probe bucket.Probe) {
	seconds, _ := probe.RetryAfter() // never false: one token fits into both tiers
	w.Header().Set("Retry-After", strconv.FormatInt(seconds, 10))
	answer(w, http.StatusTooManyRequests, refused{"rate limit exceeded", seconds})
}
