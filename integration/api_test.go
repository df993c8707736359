package integration_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/sluice-go/sluice/integration"
)

// The anonymous tier of examples/api: 20 tokens, and a new one every 3 s.
const (
	anonymousCapacity = 20
	anonymousRefill   = 3 * time.Second
)

func TestAPI(t *testing.T) {
	program := buildService(t)
	for _, image := range integration.Images() {
		t.Run(image, func(t *testing.T) {
			for _, mode := range []string{"lua", "cas"} {
				t.Run("anonymous burst in "+mode, func(t *testing.T) {
					api := startService(t, program, integration.StartRedis(t, image), mode)
					last := burst(t, 25, api)
					// A client that waits as told is served.
					time.Sleep(time.Duration(last.body.RetryAfterSeconds) * time.Second)
					if a := api.quote(t, ""); a.status != http.StatusOK {
						t.Errorf("status %d after the wait of Retry-After, want 200", a.status)
					}
				})
				t.Run("known key in "+mode, func(t *testing.T) {
					api := startService(t, program, integration.StartRedis(t, image), mode)
					a := api.quote(t, "demo-key-1")
					if got := a.number(t, "X-Rate-Limit-Remaining"); a.status != http.StatusOK || got != 119 {
						t.Errorf("first request: status %d with %d remaining, want 200 with 119", a.status, got)
					}
				})
				t.Run("outage in "+mode, func(t *testing.T) {
					outage(t, program, image, mode)
				})
			}
			for _, modes := range [][2]string{{"lua", "lua"}, {"cas", "cas"}, {"lua", "cas"}} {
				t.Run("shared bucket in "+modes[0]+" and "+modes[1], func(t *testing.T) {
					redis := integration.StartRedis(t, image)
					burst(t, 50,
						startService(t, program, redis, modes[0]),
						startService(t, program, redis, modes[1]))
				})
			}
		})
	}
}

// burst sends n anonymous requests to the services in turn, checks every answer
// against a bucket which is full at first, and returns the last, a refusal.
//
// The burst is far quicker than the refill, and then the numbers are exact: 20
// allowed and the rest refused. On a machine so slow that a token came back
// during the burst, that token is granted.
func burst(t *testing.T, n int, services ...*service) answer {
	t.Helper()
	var answers []answer
	start := time.Now()
	for i := range n {
		answers = append(answers, services[i%len(services)].quote(t, ""))
	}
	refilled := int(time.Since(start) / anonymousRefill)

	allowed := 0
	for i, a := range answers {
		switch left := anonymousCapacity - allowed; a.status {
		case http.StatusOK:
			allowed++
			if got := a.number(t, "X-Rate-Limit-Remaining"); got < left-1 || got > left-1+refilled {
				t.Errorf("request %d: %d remaining, want %d", i+1, got, left-1)
			}
			if a.body.Quote == "" || a.body.Timestamp == nil {
				t.Errorf("request %d: body %+v, want a quote and a timestamp", i+1, a.body)
			}
		case http.StatusTooManyRequests:
			if left > 0 {
				t.Errorf("request %d: refused with %d tokens left", i+1, left)
			}
			checkRefusal(t, a)
		default:
			t.Errorf("request %d: status %d, want 200 or 429", i+1, a.status)
		}
	}
	if allowed < anonymousCapacity || allowed > anonymousCapacity+refilled {
		t.Errorf("%d of %d allowed, want %d", allowed, n, anonymousCapacity)
	}
	return answers[n-1]
}

func checkRefusal(t *testing.T, a answer) {
	t.Helper()
	wait := a.number(t, "Retry-After")
	if longest := int(anonymousRefill / time.Second); wait < 1 || wait > longest {
		t.Errorf("Retry-After is %d, want 1 to %d", wait, longest)
	}
	if a.body.Error != "rate limit exceeded" || a.body.RetryAfterSeconds != wait {
		t.Errorf("body %+v, want the error %q and the %d s of Retry-After", a.body, "rate limit exceeded", wait)
	}
}

// outage takes Redis away from a running service in both ways that happen, gone
// and silent: each request fails in a second, and all is well again afterwards.
func outage(t *testing.T, program, image, mode string) {
	redis := integration.StartRedis(t, image)
	api := startService(t, program, redis, mode)
	if a := api.quote(t, ""); a.status != http.StatusOK {
		t.Fatalf("before: status %d, want 200", a.status)
	}

	redis.Stop(t)
	for range 3 {
		checkUnavailable(t, "stopped", api.quote(t, ""))
	}
	redis.Start(t)
	recovers(t, "started again", api)

	const silence = 3 * time.Second // outlasts two requests of a second
	redis.Silence(t, silence)
	for range 2 {
		checkUnavailable(t, "silent", api.quote(t, ""))
	}
	recovers(t, "talking again", api)
}

func checkUnavailable(t *testing.T, redis string, a answer) {
	t.Helper()
	if a.status != http.StatusServiceUnavailable || a.body.Error == "" {
		t.Errorf("Redis %s: status %d and error %q, want 503 with an error", redis, a.status, a.body.Error)
	}
	if a.took > time.Second {
		t.Errorf("Redis %s: answer after %v, want it within 1 s", redis, a.took)
	}
}

// recovers asks until the service serves again; until then it is unavailable.
func recovers(t *testing.T, redis string, api *service) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		a := api.quote(t, "")
		if a.status == http.StatusOK {
			return
		}
		checkUnavailable(t, redis, a)
		if time.Now().After(deadline) {
			t.Fatalf("Redis %s: still status %d after 10 s", redis, a.status)
		}
	}
}
