package histories

import (
	"fmt"
	"math"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/sluice-go/sluice/bandwidth"
	"github.com/sluice-go/sluice/bucket"
)

// Refill is negligible: no history lasts a day, which a token takes to come back.
const (
	capacity = 10
	perToken = 24 * time.Hour
	// A reservation may have to wait for so many tokens.
	ahead   = 4
	longest = ahead*perToken + perToken/2
)

var limit = bucket.MustConfiguration(bandwidth.Must(bandwidth.New(capacity, bandwidth.Greedy(1, perToken))))

// Kinds of events: a server forgets a bucket, or another one takes its place.
const (
	lost     bucket.Kind = 0
	replaced bucket.Kind = 255
)

// untold are the tokens of a bucket that may hold any number.
const untold = math.MinInt64

// call is what a client asks of a bucket.
type call struct {
	key  int
	kind bucket.Kind
	n    int64
}

// answer is what it is told: of each kind of operation only what its method tells, the rest is zero.
type answer struct {
	unknown  bool // whether it happened, and all else
	consumed bool
	taken    int64
	left     int64
	existed  bool
}

// model is a bucket as a number of tokens. A full one and none are the same.
var model = porcupine.Model{
	Partition: byKey,
	Init:      func() any { return int64(capacity) },
	Step: func(state, input, output any) (bool, any) {
		tokens, asked, got := state.(int64), input.(call), output.(answer)
		if tokens == untold {
			return learn(asked, got)
		}
		want, next := step(tokens, asked)
		return got.unknown || got == want, next
	},
	DescribeOperation: func(input, output any) string { return describe(input.(call), output.(answer)) },
}

// step is the answer to a call, and the tokens after it.
func step(tokens int64, c call) (answer, int64) {
	switch c.kind {
	case bucket.OpConsume:
		a := answer{consumed: tokens >= max(c.n, 1)}
		if a.consumed {
			a.taken = c.n
		}
		a.left = tokens - a.taken
		return a, a.left
	case bucket.OpConsumeUpTo:
		a := answer{consumed: tokens > 0, taken: min(max(tokens, 0), c.n)}
		a.left = tokens - a.taken
		return a, a.left
	case bucket.OpEstimate:
		return answer{consumed: tokens >= max(c.n, 1), left: tokens}, tokens
	case bucket.OpInspect:
		return answer{left: tokens}, tokens
	case bucket.OpForce:
		return answer{consumed: true, taken: c.n, left: tokens - c.n}, tokens - c.n
	case bucket.OpReserve:
		if c.n > capacity || max(c.n, 1)-tokens > ahead {
			return answer{}, tokens // an error that tells nothing more
		}
		return answer{consumed: true, taken: c.n, left: tokens - c.n}, tokens - c.n
	case bucket.OpAdd:
		next := min(tokens+c.n, capacity)
		return answer{left: next}, next
	case bucket.OpRefund:
		return answer{}, min(tokens+c.n, capacity)
	case bucket.OpRemove:
		return answer{existed: tokens != capacity}, capacity
	case bucket.OpReset, lost:
		return answer{}, capacity
	case replaced:
		return answer{}, int64(untold)
	default:
		panic(fmt.Sprintf("no model of %v", c.kind))
	}
}

// learn finds out what a bucket holds after a call, by the answer, where nobody knew before.
func learn(c call, a answer) (bool, any) {
	switch c.kind {
	case bucket.OpReset, bucket.OpRemove, lost:
		return true, int64(capacity)
	case bucket.OpAdd:
		if !a.unknown {
			return a.left <= capacity, a.left
		}
	case bucket.OpRefund, replaced:
	default:
		if refused := c.kind == bucket.OpReserve && !a.consumed; !a.unknown && !refused {
			want, next := step(a.left+a.taken, c)
			return want == a && a.left <= capacity, next
		}
	}
	return true, int64(untold)
}

// byKey splits a history: buckets have nothing to do with each other.
func byKey(history []porcupine.Operation) (parts [][]porcupine.Operation) {
	for _, op := range history {
		key := op.Input.(call).key
		for len(parts) <= key {
			parts = append(parts, nil)
		}
		parts[key] = append(parts[key], op)
	}
	return parts
}

func describe(c call, a answer) string {
	switch {
	case c.kind == lost:
		return "lost"
	case c.kind == replaced:
		return "replaced"
	case a.unknown:
		return fmt.Sprintf("%v %d: unknown", c.kind, c.n)
	default:
		return fmt.Sprintf("%v %d: consumed %t, %d taken, %d left, existed %t", c.kind, c.n, a.consumed, a.taken, a.left, a.existed)
	}
}
