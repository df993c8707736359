package main

import (
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"time"
)

var quotes = []string{
	"Simplicity is prerequisite for reliability.",
	"Make it work, make it right, make it fast.",
	"Don't communicate by sharing memory, share memory by communicating.",
	"A little copying is better than a little dependency.",
}

// The bodies of the answers.
type (
	quote struct {
		Quote     string    `json:"quote"`
		Timestamp time.Time `json:"timestamp"`
	}
	refused struct {
		Error             string `json:"error"`
		RetryAfterSeconds int64  `json:"retryAfterSeconds"`
	}
	unavailable struct {
		Error string `json:"error"`
	}
)

// newAPI is the service: one path, one method (and HEAD, which net/http takes
// for a GET without a body). The limiter stands behind the routing, so that
// what the service does not have costs no token.
func newAPI(l *limiter) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /api/quote", l.limit(http.HandlerFunc(serveQuote)))
	return mux
}

func serveQuote(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, quote{quotes[rand.IntN(len(quotes))], time.Now().UTC()})
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // fails only where nobody listens any more
}
