package main

import (
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/proxy"
	"github.com/sluice-go/sluice/proxy/memory"
)

// service is the API over buckets in memory, on a clock that only a test moves.
type service struct {
	http.Handler
	now time.Time
}

const knownKey = "demo-key-1"

func newService(t *testing.T, trusted ...string) *service {
	t.Helper()
	proxies, err := parsePrefixes(strings.Join(trusted, ","))
	if err != nil {
		t.Fatal(err)
	}
	s := &service{now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	buckets, err := proxy.NewManager(memory.New(memory.WithClock(func() time.Time { return s.now })))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { buckets.Close() })
	s.Handler = newAPI(newLimiter(buckets, []string{knownKey, "demo-key-2"}, proxies))
	return s
}

// from is a GET /api/quote by a peer. Headers are names and values in turn.
func from(peer string, headers ...string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/api/quote", nil)
	r.RemoteAddr = peer
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	return r
}

// send has a request served and returns the answer, which is well-formed.
func (s *service) send(t *testing.T, r *http.Request) reply {
	t.Helper()
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return read(t, w.Result())
}

// granted is how many of n requests are served; the others are refused.
func (s *service) granted(t *testing.T, n int, request func(i int) *http.Request) int {
	t.Helper()
	granted := 0
	for i := range n {
		if s.send(t, request(i)).status == http.StatusOK {
			granted++
		}
	}
	return granted
}

// reply is an answer of the service.
type reply struct {
	status     int
	remaining  int64 // of 200; -1 if it is not told
	retryAfter int64 // of 429
}

// read checks that an answer has all that belongs to its status and no more.
func read(t *testing.T, response *http.Response) reply {
	t.Helper()
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Error(err)
	}
	var body struct {
		Quote             *string    `json:"quote"`
		Timestamp         *time.Time `json:"timestamp"`
		Error             *string    `json:"error"`
		RetryAfterSeconds *int64     `json:"retryAfterSeconds"`
	}
	if err := json.Unmarshal(text, &body); err != nil {
		t.Errorf("status %d with a body that is not JSON: %q", response.StatusCode, text)
	}
	a := reply{response.StatusCode, -1, -1}
	header := response.Header.Get
	if header("Content-Type") != "application/json" {
		t.Errorf("status %d: Content-Type %q, want application/json", a.status, header("Content-Type"))
	}
	if text := header("X-Rate-Limit-Remaining"); text != "" {
		a.remaining = whole(t, text)
	}
	if text := header("Retry-After"); text != "" {
		a.retryAfter = whole(t, text)
	}
	var ok bool
	switch a.status {
	case http.StatusOK:
		ok = a.retryAfter < 0 && body.Quote != nil && *body.Quote != "" &&
			body.Timestamp != nil && time.Since(*body.Timestamp).Abs() < time.Minute && body.Error == nil
	case http.StatusTooManyRequests:
		ok = a.remaining < 0 && a.retryAfter > 0 && body.Quote == nil && body.RetryAfterSeconds != nil &&
			*body.RetryAfterSeconds == a.retryAfter && body.Error != nil && *body.Error == "rate limit exceeded"
	case http.StatusServiceUnavailable:
		ok = a.remaining < 0 && body.Quote == nil && body.Error != nil && *body.Error == "rate limiter unavailable"
	}
	if !ok {
		t.Errorf("status %d, headers %v and body %s do not belong together", a.status, response.Header, text)
	}
	return a
}

func whole(t *testing.T, text string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Errorf("%q is not a whole number", text)
	}
	return n
}

func TestBurstOfStranger(t *testing.T) {
	s := newService(t)
	for i := range int64(25) {
		got, want := s.send(t, from("192.0.2.1:1234")), reply{200, 19 - i, -1}
		if i >= 20 {
			want = reply{429, -1, 3} // 20 a minute: the next token is 3 s away
		}
		if got != want {
			t.Errorf("request %d: %+v, want %+v", i+1, got, want)
		}
	}
	if got := s.send(t, from("192.0.2.2:1234")); got.remaining != 19 {
		t.Errorf("another address: %+v, want a bucket of its own", got)
	}
	s.now = s.now.Add(3*time.Second - time.Microsecond)
	if got := s.send(t, from("192.0.2.1:1234")); got != (reply{429, -1, 1}) {
		t.Errorf("a microsecond before the token is back: %+v, want a refusal", got)
	}
	s.now = s.now.Add(time.Microsecond)
	if got := s.send(t, from("192.0.2.1:1234")); got != (reply{200, 0, -1}) {
		t.Errorf("when the token is back: %+v, want it", got)
	}
}

func TestBurstOfKeyHolder(t *testing.T) {
	s := newService(t)
	for i := range int64(125) {
		got, want := s.send(t, from("192.0.2.1:1234", "X-Api-Key", knownKey)), reply{200, 119 - i, -1}
		if i >= 120 {
			want = reply{429, -1, 1} // 100 a minute: 0.6 s
		}
		if got != want {
			t.Errorf("request %d: %+v, want %+v", i+1, got, want)
		}
	}
	if got := s.send(t, from("192.0.2.1:1234", "X-Api-Key", "demo-key-2")); got.remaining != 119 {
		t.Errorf("another key: %+v, want a bucket of its own", got)
	}
	if got := s.send(t, from("192.0.2.1:1234")); got.remaining != 19 {
		t.Errorf("the same address without a key: %+v, want a bucket of its own", got)
	}
	s.now = s.now.Add(time.Minute)
	elsewhere := func(int) *http.Request { return from("198.51.100.7:1234", "X-Api-Key", knownKey) }
	if got := s.granted(t, 125, elsewhere); got != 100 {
		t.Errorf("a minute later and elsewhere: %d granted, want the 100 of a minute", got)
	}
}

func TestMadeUpKeyIsStranger(t *testing.T) {
	s := newService(t)
	madeUp := func(i int) *http.Request { return from("192.0.2.1:1234", "X-Api-Key", "made-up-"+strconv.Itoa(i)) }
	if got := s.granted(t, 100, madeUp); got != 20 {
		t.Errorf("%d granted, want 20", got)
	}
	if got := s.send(t, from("192.0.2.1:1234")); got.status != 429 {
		t.Errorf("the same address without a key: %+v, want the same bucket", got)
	}
}

// Only what the service has costs tokens. That goes for preflights too.
func TestC56OtherRequestsCostNothing(t *testing.T) {
	s := newService(t)
	for _, tt := range []struct {
		method, path string
		status       int
	}{
		{"OPTIONS", "/api/quote", 405},
		{"POST", "/api/quote", 405},
		{"DELETE", "/api/quote", 405},
		{"GET", "/", 404},
		{"GET", "/api/quote/", 404},
		{"POST", "/api/quotes", 404},
	} {
		for range 100 {
			r := httptest.NewRequest(tt.method, tt.path, nil)
			r.RemoteAddr = "192.0.2.1:1234"
			w := httptest.NewRecorder()
			if s.ServeHTTP(w, r); w.Code != tt.status {
				t.Fatalf("%s %s: status %d, want %d", tt.method, tt.path, w.Code, tt.status)
			}
		}
	}
	if got := s.send(t, from("192.0.2.1:1234")); got.remaining != 19 {
		t.Errorf("afterwards: %+v, want a full bucket", got)
	}
}

func TestC16RetryAfterRoundsUp(t *testing.T) {
	for _, tt := range []struct {
		wait time.Duration
		want int64
	}{
		{1, 1},
		{200 * time.Millisecond, 1},
		{999 * time.Millisecond, 1},
		{time.Second, 1},
		{1000100 * time.Microsecond, 2},
		{1900 * time.Millisecond, 2},
	} {
		w := httptest.NewRecorder()
		refuse(w, bucket.Probe{Wait: tt.wait})
		if got := read(t, w.Result()); got != (reply{429, -1, tt.want}) {
			t.Errorf("wait of %v: %+v, want Retry-After %d", tt.wait, got, tt.want)
		}
	}
}

// A client that waits exactly as told is served, whatever the bucket has been
// through; a second less would have been too early.
func TestC16ObedientClientIsNeverRefused(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	s := newService(t)
	for state := range 1000 {
		request := func() *http.Request { return from("192.0.2.1:1234") }
		if random.IntN(2) == 0 {
			request = func() *http.Request { return from("192.0.2.1:1234", "X-Api-Key", knownKey) }
		}
		s.now = s.now.Add(time.Duration(random.Int64N(int64(20 * time.Second))))
		got := s.send(t, request())
		for got.status == 200 {
			s.now = s.now.Add(time.Duration(random.Int64N(int64(100 * time.Millisecond))))
			got = s.send(t, request())
		}

		s.now = s.now.Add(time.Duration(got.retryAfter-1) * time.Second)
		if early := s.send(t, request()); early.status != 429 || early.retryAfter != 1 {
			t.Fatalf("state %d: %+v a second before the end of the %d s, want one more second", state, early, got.retryAfter)
		}
		s.now = s.now.Add(time.Second)
		if obedient := s.send(t, request()); obedient.status != 200 {
			t.Fatalf("state %d: %+v after the %d s of Retry-After, want 200", state, obedient, got.retryAfter)
		}
	}
}

// The case has buckets of 2; those of this service hold 20.
func TestC18ForwardedForIsNotBelieved(t *testing.T) {
	t.Run("from a peer that is no proxy", func(t *testing.T) {
		s := newService(t)
		spoofed := func(i int) *http.Request {
			address := "1.2.3." + strconv.Itoa(i)
			return from("198.51.100.7:1234", "X-Forwarded-For", address, "True-Client-IP", address, "X-Real-IP", address)
		}
		if got := s.granted(t, 100, spoofed); got != 20 {
			t.Errorf("%d granted, want 20", got)
		}
	})
	t.Run("left of what the trusted proxy wrote", func(t *testing.T) {
		s := newService(t, "10.0.0.1/32")
		spoofed := func(i int) *http.Request {
			return from("10.0.0.1:1234", "X-Forwarded-For", "1.2.3."+strconv.Itoa(i)+", 203.0.113.9")
		}
		if got := s.granted(t, 100, spoofed); got != 20 {
			t.Errorf("%d granted, want 20", got)
		}
		if got := s.send(t, from("203.0.113.9:80")); got.status != 429 {
			t.Errorf("the client itself: %+v, want the same bucket", got)
		}
	})
}

// The case has buckets of 2; those of this service hold 20, and its prefix
// length is fixed.
func TestC45NetworksShareBuckets(t *testing.T) {
	s := newService(t)
	neighbour := func(i int) *http.Request {
		return from(netip.AddrPortFrom(netip.MustParseAddr("2001:db8:1:2::"+strconv.FormatInt(int64(i), 16)), 1234).String())
	}
	if got := s.granted(t, 100, neighbour); got != 20 {
		t.Errorf("%d granted to a /64, want 20", got)
	}
	for _, peer := range []string{"[2001:db8:1:3::1]:1234", "192.0.2.1:1234", "192.0.2.2:1234"} {
		if got := s.send(t, from(peer)); got.remaining != 19 {
			t.Errorf("%s: %+v, want a bucket of its own", peer, got)
		}
	}
}

func TestC58HostileKeys(t *testing.T) {
	s := newService(t)
	mega := strings.Repeat("a", 1<<20)
	hostile := []string{mega, mega + "b", "a\x00b", "a\nb", "\xff\xfe", "", " ", "{a}", "key:", strings.Repeat(knownKey, 2)}
	for i, key := range hostile {
		if got := s.send(t, from("192.0.2.1:1234", "X-Api-Key", key)); got.remaining != int64(19-i) {
			t.Errorf("key %.20q: %+v, want the bucket of the address with %d left", key, got, 19-i)
		}
	}
}

func TestC58HugeHeadersAreRefused(t *testing.T) {
	s := newService(t, "127.0.0.1")
	server := httptest.NewUnstartedServer(nil)
	server.Config = newServer(s)
	server.Start()
	defer server.Close()
	for _, header := range []string{"X-Api-Key", "X-Forwarded-For"} {
		r := httptest.NewRequest(http.MethodGet, server.URL+"/api/quote", nil)
		r.RequestURI = ""
		r.Header.Set(header, strings.Repeat("1.2.3.4,", 1<<17))
		response, err := server.Client().Do(r)
		if err != nil {
			continue // the server hung up before the client had sent it all
		}
		if response.Body.Close(); response.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
			t.Errorf("%s of a megabyte: status %d, want 431", header, response.StatusCode)
		}
	}
	if got := s.send(t, from("127.0.0.1:1234")); got.remaining != 19 {
		t.Errorf("afterwards: %+v, want a full bucket", got)
	}
}
