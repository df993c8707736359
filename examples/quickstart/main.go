// Quickstart drains a token bucket, is refused, waits as it was told and is
// served again: once on a bucket of this process, once on buckets kept by key.
// It needs no server:
//
//	go run ./examples/quickstart
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"time"

	"github.com/sluice-go/sluice/bandwidth"
	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/proxy"
	"github.com/sluice-go/sluice/proxy/memory"
)

// At most three tokens; they come back at five a second, one every 200 ms.
var limit = bucket.MustConfiguration(bandwidth.Must(bandwidth.New(3, bandwidth.Greedy(5, time.Second))))

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out io.Writer) error {
	fmt.Fprintln(out, "A bucket of this process:")
	if err := drain(ctx, out, bucket.New(limit).Bucket()); err != nil {
		return err
	}

	// A manager has a bucket for each key. To share them between processes, keep
	// them in Redis: goredis.New(client) in place of memory.New().
	manager, err := proxy.NewManager(memory.New())
	if err != nil {
		return err
	}
	defer manager.Close()
	for _, user := range []string{"alice", "bob"} {
		fmt.Fprintf(out, "The bucket of %s:\n", user)
		if err := drain(ctx, out, manager.Bucket("user:"+user, limit)); err != nil {
			return err
		}
	}
	return nil
}

// drain asks for a token five times and waits where it is told to. It does not
// know where the bucket lives.
func drain(ctx context.Context, out io.Writer, b bucket.Bucket) error {
	for range 5 {
		probe, err := b.Consume(ctx, 1)
		if err != nil {
			return err // there is no answer; a refusal is one
		}
		if probe.Consumed {
			fmt.Fprintf(out, "  served, %d left\n", probe.RemainingTokens)
			continue
		}
		fmt.Fprintf(out, "  refused, next token in %v: waiting\n", probe.Wait.Round(10*time.Millisecond))
		time.Sleep(probe.Wait)
	}
	return nil
}
