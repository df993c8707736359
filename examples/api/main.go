// Api is a small HTTP service whose callers are limited in two tiers: with one
// of the known API keys 100 requests a minute and 120 at once, without one 20 a
// minute. It needs no server:
//
//	go run ./examples/api
//	curl -i http://127.0.0.1:8080/api/quote
//	curl -i -H 'X-Api-Key: demo-key-1' http://127.0.0.1:8080/api/quote
//
// Several of them hold the limits together if they keep the buckets in one
// Redis:
//
//	go run ./examples/api -store redis://localhost:6379
//
// The store is opened in store.go, with what happens while it is in trouble.
// The limiting is all in limit.go; read that first.
package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/sluice-go/sluice/proxy"
)

// shutdownTimeout is how long requests may take to finish at the end.
const shutdownTimeout = 10 * time.Second

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	context.AfterFunc(ctx, stop) // a second signal kills
	os.Exit(run(ctx, os.Args[1:], os.Stderr))
}

// run is the program until ctx ends, and its exit code.
func run(ctx context.Context, args []string, stderr io.Writer) int {
	s, err := parseFlags(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	}
	log := slog.New(slog.NewTextHandler(stderr, nil))
	if err := serve(ctx, s, log); err != nil {
		log.Error("stopped", "err", err)
		return 1
	}
	return 0
}

func serve(ctx context.Context, s settings, log *slog.Logger) error {
	backend, client, err := s.open(s.mode)
	if err != nil {
		return err
	}
	defer client.Close()
	buckets, err := proxy.NewManager(s.policy(backend), proxy.WithTimeout(s.timeout), proxy.WithObserver(observer{log}))
	if err != nil {
		return err
	}
	defer buckets.Close()

	listener, err := net.Listen("tcp", s.addr)
	if err != nil {
		return err
	}
	log.Info("listening", "addr", listener.Addr().String())
	server := newServer(newAPI(newLimiter(buckets, s.apiKeys, s.proxies)))
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	// The buckets must outlive the requests under way.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	return server.Shutdown(ctx)
}

// newServer bounds what a caller can hold: time, and memory for headers.
func newServer(h http.Handler) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      10 * time.Second,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    16 << 10,
	}
}
