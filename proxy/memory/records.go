package memory

import (
	"slices"

	"github.com/sluice-go/sluice/bucket"
)

// record is one bucket: a cache line. Most have one bandwidth; each further one
// has its level behind more.
type record struct {
	key    string
	config bucket.Configuration
	last   int64
	level  bucket.Level
	until  int64 // the instant from which it is forgotten
	more   *further
}

// further is the level of a bandwidth that is not the first.
type further struct {
	bucket.Level
	next *further
}

// load fills in the record as the arithmetic takes it.
func (r *record) load(e *bucket.Entry) {
	e.Config, e.State.Last = r.config, r.last
	first := &e.State.Levels[0]
	first.Tokens, first.Rem = r.level.Tokens, r.level.Rem
	i := 1
	for f := r.more; f != nil; f = f.next {
		e.State.Levels[i] = f.Level
		i++
	}
}

// put is the reverse. It uses the levels that are there as far as they go.
func (r *record) put(e *bucket.Entry, until int64) {
	r.config, r.last, r.level, r.until = e.Config, e.State.Last, e.State.Levels[0], until
	place := &r.more
	for i := 1; i < e.Config.Len(); i++ {
		if *place == nil {
			*place = new(further)
		}
		(*place).Level = e.State.Levels[i]
		place = &(*place).next
	}
	*place = nil
}

// records are kept without gaps in chunks, so that growing and shrinking moves
// at most one chunk and there is next to no room unused.
type records struct{ chunks [][]record }

// place says where a record is: its chunk, and which of it.
type place uint32

const (
	chunkBits = 6
	// chunkSize fills 4,096 bytes, of which Go's allocator takes 8 for itself.
	// Smaller chunks, of 31, 15, 7, 3 and 1, fill their sizes as well.
	chunkSize = 1<<chunkBits - 1
)

func (rs *records) at(p place) *record { return &rs.chunks[p>>chunkBits][p&chunkSize] }

func (rs *records) count() int {
	if len(rs.chunks) == 0 {
		return 0
	}
	last := len(rs.chunks) - 1
	return last*chunkSize + len(rs.chunks[last])
}

// add makes room for one more, after all others.
func (rs *records) add() place {
	last := len(rs.chunks) - 1
	if last < 0 || len(rs.chunks[last]) == chunkSize {
		rs.chunks = append(rs.chunks, nil)
		last++
	}
	chunk := &rs.chunks[last]
	if len(*chunk) == cap(*chunk) {
		*chunk = resized(*chunk, 2*cap(*chunk)+1)
	}
	*chunk = (*chunk)[:len(*chunk)+1]
	return place(last<<chunkBits | len(*chunk) - 1)
}

// last is the place of the record after all others. There must be one.
func (rs *records) last() place {
	last := len(rs.chunks) - 1
	return place(last<<chunkBits | len(rs.chunks[last]) - 1)
}

// next is the place after p, around.
func (rs *records) next(p place) place {
	switch {
	case p == rs.last():
		return 0
	case p&chunkSize == chunkSize-1:
		return (p>>chunkBits + 1) << chunkBits
	}
	return p + 1
}

// drop removes the last record. A chunk is halved once that leaves it some room.
func (rs *records) drop() {
	last := len(rs.chunks) - 1
	chunk := &rs.chunks[last]
	n := len(*chunk) - 1
	(*chunk)[n] = record{}
	*chunk = (*chunk)[:n]
	if half := cap(*chunk) / 2; n <= half*7/8 {
		*chunk = resized(*chunk, half)
	}
	if n > 0 {
		return
	}
	*chunk = nil
	if rs.chunks = rs.chunks[:last]; last <= cap(rs.chunks)/2 {
		rs.chunks = slices.Clone(rs.chunks)
	}
}

// resized is the chunk with another capacity.
func resized(chunk []record, capacity int) []record {
	return append(make([]record, 0, capacity), chunk...)
}
