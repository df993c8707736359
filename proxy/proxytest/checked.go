package proxytest

import (
	"fmt"
	"math"
	"time"

	"github.com/sluice-go/sluice/bucket"
)

// checked is a bucket of which a test says what it must answer. The first answer
// that differs ends the test.
type checked struct {
	bucket.Bucket
	s *scene
}

var _ bucket.Bucket = (*checked)(nil)

// fail tells which call went wrong, and when.
func (b *checked) fail(call string, got, want any) {
	b.s.Helper()
	b.s.Fatalf("at %v: %s: got %v, want %v", b.s.clock.Now().Sub(start), call, got, want)
}

func (b *checked) ok(call string, err error) {
	b.s.Helper()
	if err != nil {
		b.fail(call, err, "no error")
	}
}

// takes takes n tokens, which must be there.
func (b *checked) takes(n int64) bucket.Probe {
	b.s.Helper()
	call := fmt.Sprintf("Consume(%d)", n)
	p, err := b.Consume(b.s.ctx, n)
	b.ok(call, err)
	if !p.Consumed || p.Tokens != n || p.Wait != 0 || p.Never {
		b.fail(call, told(p), "consumed, without a wait")
	}
	if seconds, ok := p.RetryAfter(); ok {
		b.fail(call, fmt.Sprintf("to retry after %d s", seconds), "nothing to retry")
	}
	return p
}

// tries takes n tokens if they are there, and tells how many it took.
func (b *checked) tries(n int64) int64 {
	b.s.Helper()
	ok, err := b.TryConsume(b.s.ctx, n)
	b.ok(fmt.Sprintf("TryConsume(%d)", n), err)
	if ok {
		return n
	}
	return 0
}

// refuses asks for n tokens that are only there after a wait, which is rounded
// up to ticks. What an estimate says must be the same.
func (b *checked) refuses(n int64, wait time.Duration) bucket.Probe {
	b.s.Helper()
	wait = b.s.ticks(wait)
	estimate, err := b.Estimate(b.s.ctx, n)
	b.ok(fmt.Sprintf("Estimate(%d)", n), err)
	p, err := b.Consume(b.s.ctx, n)
	b.ok(fmt.Sprintf("Consume(%d)", n), err)
	for call, p := range map[string]bucket.Probe{fmt.Sprintf("Estimate(%d)", n): estimate, fmt.Sprintf("Consume(%d)", n): p} {
		if p.Consumed || p.Tokens != 0 || p.Wait != wait || p.Never {
			b.fail(call, told(p), fmt.Sprintf("refused, with a wait of %v", wait))
		}
		if p.NanosToWait() != int64(wait) {
			b.fail(call, fmt.Sprintf("%d ns to wait", p.NanosToWait()), wait)
		}
		up := int64(wait / time.Second)
		if wait%time.Second > 0 {
			up++
		}
		if seconds, ok := p.RetryAfter(); !ok || seconds != up {
			b.fail(call, fmt.Sprintf("to retry after %d s, %v", seconds, ok), fmt.Sprintf("after %d s", up))
		}
	}
	return p
}

// never asks for n tokens, which are more than the bucket can ever hold.
func (b *checked) never(n int64) bucket.Probe {
	b.s.Helper()
	call := fmt.Sprintf("Consume(%d)", n)
	p, err := b.Consume(b.s.ctx, n)
	b.ok(call, err)
	if p.Consumed || p.Tokens != 0 || p.Wait != math.MaxInt64 || !p.Never {
		b.fail(call, told(p), "refused for ever, with the longest wait")
	}
	if seconds, ok := p.RetryAfter(); ok {
		b.fail(call, fmt.Sprintf("to retry after %d s", seconds), "no time to retry")
	}
	return p
}

// has looks at what is available.
func (b *checked) has(n int64) {
	b.s.Helper()
	got, err := b.Available(b.s.ctx)
	b.ok("Available", err)
	if got != n {
		b.fail("Available", got, n)
	}
}

// adds puts n tokens back, after which so many are available.
func (b *checked) adds(n, available int64) {
	b.s.Helper()
	call := fmt.Sprintf("Add(%d)", n)
	got, err := b.Add(b.s.ctx, n)
	b.ok(call, err)
	if got != available {
		b.fail(call, got, available)
	}
}

// forces takes n tokens whether they are there or not, after which so many are
// available, and the debt is repaid after the wait.
func (b *checked) forces(n, available int64, wait time.Duration) bucket.Probe {
	b.s.Helper()
	call := fmt.Sprintf("Force(%d)", n)
	p, err := b.Force(b.s.ctx, n)
	b.ok(call, err)
	wait = b.s.ticks(wait)
	if !p.Consumed || p.Never || p.Tokens != n || p.RemainingTokens != available || p.Wait != wait {
		b.fail(call, told(p), fmt.Sprintf("consumed, with %d remaining and a wait of %v", available, wait))
	}
	return p
}

// forceAdds adds n tokens, after which so many are available.
func (b *checked) forceAdds(n, available int64) {
	b.s.Helper()
	call := fmt.Sprintf("ForceAdd(%d)", n)
	got, err := b.ForceAdd(b.s.ctx, n)
	b.ok(call, err)
	if got != available {
		b.fail(call, got, available)
	}
}

func (b *checked) replaces(c bucket.Configuration, strategy bucket.Inheritance) {
	b.s.Helper()
	b.ok("Replace", b.Replace(b.s.ctx, c, strategy))
}

func (b *checked) resets() {
	b.s.Helper()
	b.ok("Reset", b.Reset(b.s.ctx))
}

func (b *checked) inspects() bucket.Snapshot {
	b.s.Helper()
	got, err := b.Inspect(b.s.ctx)
	b.ok("Inspect", err)
	return got
}

// holds looks at what each bandwidth holds.
func (b *checked) holds(tokens ...int64) {
	b.s.Helper()
	if got := levels(b.inspects().Probe); fmt.Sprint(got) != fmt.Sprint(tokens) {
		b.fail("Inspect", got, tokens)
	}
}

// levels is what each bandwidth of the configuration in force holds.
func levels(p bucket.Probe) []int64 {
	all := make([]int64, p.Configuration.Len())
	for i := range all {
		all[i] = p.TokensOf(i)
	}
	return all
}

// told is what a probe tells, on one line.
func told(p bucket.Probe) string {
	verdict := "refused"
	switch {
	case p.Consumed:
		verdict = "consumed"
	case p.Never:
		verdict = "refused for ever"
	}
	return fmt.Sprintf("%s: took %d, remaining %d of %d, wait %v, next token %v, full %v, deciding %d",
		verdict, p.Tokens, p.RemainingTokens, levels(p), p.Wait, p.NextToken, p.TimeToFull, p.Deciding)
}
