package memory

import "slices"

// records are kept without gaps in chunks, so that growing and shrinking moves
// at most one chunk, and little room is unused.
type records struct{ chunks []chunk }

// chunk is some records, and as many extras if any of them ever needed one.
type chunk struct {
	records []record
	extras  []*extra
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

// extra is nil if the record never needed one.
func (rs *records) extra(p place) *extra {
	if extras := rs.chunks[p>>chunkBits].extras; extras != nil {
		return extras[p%chunkSize]
	}
	return nil
}

func (rs *records) needExtra(p place) *extra {
	c := &rs.chunks[p>>chunkBits]
	if c.extras == nil {
		c.extras = make([]*extra, cap(c.records))
	}
	x := &c.extras[p%chunkSize]
	if *x == nil {
		*x = new(extra)
	}
	return *x
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
	x := rs.extra(from)
	if c := &rs.chunks[to>>chunkBits]; x != nil && c.extras == nil {
		c.extras = make([]*extra, cap(c.records))
	}
	if extras := rs.chunks[to>>chunkBits].extras; extras != nil {
		extras[to%chunkSize] = x
	}
}

// drop removes the last record, and room that is much more than what is left
// needs.
func (rs *records) drop() {
	last := len(rs.chunks) - 1
	c := &rs.chunks[last]
	n := len(c.records) - 1
	c.records[n] = record{}
	c.records = c.records[:n]
	if c.extras != nil {
		c.extras[n] = nil
	}
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
	if c.extras != nil {
		c.extras = append(make([]*extra, 0, cap(c.records)), c.extras[:len(c.records)]...)[:cap(c.records)]
	}
}
