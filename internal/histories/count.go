package histories

import "fmt"

// Count tells what became of the calls of histories.
type Count struct {
	Answered, Failed, Unknown, Lost int
}

// Count counts the calls of a history.
func (h *History) Count() Count {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := Count{Failed: h.failed}
	for _, op := range h.history {
		switch {
		case op.Output.(answer).unknown:
			c.Unknown++
		case op.Input.(call).kind == lost:
			c.Lost++
		case op.Input.(call).kind == replaced:
		default:
			c.Answered++
		}
	}
	return c
}

// Add adds another count.
func (c *Count) Add(d Count) {
	c.Answered += d.Answered
	c.Failed += d.Failed
	c.Unknown += d.Unknown
	c.Lost += d.Lost
}

// String is the count in words.
func (c Count) String() string {
	return fmt.Sprintf("%d calls answered, %d failed, %d with an unknown outcome, %d buckets lost",
		c.Answered, c.Failed, c.Unknown, c.Lost)
}
