package memory

import "slices"

// records are kept without gaps in chunks, so that growing and shrinking moves
// at most one chunk, and little room is unused.
type records struct{ chunks []chunk }

// chunk is some records, and what some of them have beside: nil, or with room for
// as many.
type chunk struct {
	records []record
	tails   []string // of long keys
	further []*levels
}

// place says which record of all it is.
type place uint32

const (
	chunkBits = 9
	chunkSize = 1 << chunkBits // 32 KiB, which is page-aligned
)

func (rs *records) at(p place) *record {
	return &rs.chunks[p>>chunkBits].records[p%chunkSize]
}

func (rs *records) tail(p place) string { return beside(rs.chunks[p>>chunkBits].tails, p) }

func (rs *records) further(p place) *levels { return beside(rs.chunks[p>>chunkBits].further, p) }

func (rs *records) setTail(p place, tail string) {
	c := &rs.chunks[p>>chunkBits]
	c.tails = put(c.tails, p, tail, cap(c.records))
}

func (rs *records) setFurther(p place, l *levels) {
	c := &rs.chunks[p>>chunkBits]
	c.further = put(c.further, p, l, cap(c.records))
}

// beside is what a record has beside it; zero if there is nothing.
func beside[T any](all []T, p place) (v T) {
	if all != nil {
		v = all[p%chunkSize]
	}
	return v
}

// put puts a value beside a record, where the zero one needs no room.
func put[T comparable](all []T, p place, v T, room int) []T {
	var zero T
	if all == nil && v == zero {
		return nil
	}
	if all == nil {
		all = make([]T, room)
	}
	all[p%chunkSize] = v
	return all
}

func (rs *records) count() int {
	last := len(rs.chunks) - 1
	if last < 0 {
		return 0
	}
	return last*chunkSize + len(rs.chunks[last].records)
}

// add makes room for one more, after all others.
func (rs *records) add() place {
	last := len(rs.chunks) - 1
	if last < 0 || len(rs.chunks[last].records) == chunkSize {
		rs.chunks = append(rs.chunks, chunk{})
		last++
	}
	c := &rs.chunks[last]
	n := len(c.records)
	if n == cap(c.records) {
		c.resize(n + n/4 + 1)
	}
	c.records = c.records[:n+1]
	return place(last*chunkSize + n)
}

// move puts the record at one place in another.
func (rs *records) move(to, from place) {
	*rs.at(to) = *rs.at(from)
	rs.setTail(to, rs.tail(from))
	rs.setFurther(to, rs.further(from))
}

// drop removes the last record, and room that is much more than what is left
// needs.
func (rs *records) drop() {
	last := len(rs.chunks) - 1
	c := &rs.chunks[last]
	n := len(c.records) - 1
	rs.setTail(place(last*chunkSize+n), "")
	rs.setFurther(place(last*chunkSize+n), nil)
	c.records[n] = record{}
	c.records = c.records[:n]
	if n > 0 {
		if cap(c.records) > n+n/4+1 {
			c.resize(n + n/8 + 1)
		}
		return
	}
	*c = chunk{}
	if rs.chunks = rs.chunks[:last]; last <= cap(rs.chunks)/2 {
		rs.chunks = slices.Clone(rs.chunks)
	}
}

// resize gives the chunk room for n records, and for more where that costs
// nothing.
func (c *chunk) resize(n int) {
	c.records = append(slices.Grow([]record(nil), min(n, chunkSize)), c.records...)
	c.tails = roomy(c.tails, len(c.records), cap(c.records))
	c.further = roomy(c.further, len(c.records), cap(c.records))
}

// roomy has room for more or less beside records, of which there are n.
func roomy[T any](all []T, n, room int) []T {
	if all == nil {
		return nil
	}
	return append(make([]T, 0, room), all[:n]...)[:room]
}
