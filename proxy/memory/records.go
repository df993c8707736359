package memory

import "slices"

// records are kept without gaps in chunks, so that growing and shrinking moves
// at most one chunk, and little room is unused.
type records struct{ chunks [][]record }

// place says where a record is: its chunk, and which of it.
type place uint32

const (
	placeBits = 9
	placeMask = 1<<placeBits - 1
	// chunkSize is what the largest size that Go's allocator keeps free lists of
	// has room for.
	chunkSize = 455
)

func (rs *records) at(p place) *record { return &rs.chunks[p>>placeBits][p&placeMask] }

func (rs *records) count() int {
	if len(rs.chunks) == 0 {
		return 0
	}
	last := len(rs.chunks) - 1
	return last*chunkSize + len(rs.chunks[last])
}

// last is the place of the record after all others. There must be one.
func (rs *records) last() place {
	last := len(rs.chunks) - 1
	return place(last<<placeBits | len(rs.chunks[last]) - 1)
}

// add makes room for one more, after all others.
func (rs *records) add() place {
	last := len(rs.chunks) - 1
	if last < 0 || len(rs.chunks[last]) == chunkSize {
		rs.chunks = append(rs.chunks, nil)
		last++
	}
	chunk := &rs.chunks[last]
	n := len(*chunk)
	if n == cap(*chunk) {
		*chunk = resized(*chunk, n+n/4+1)
	}
	*chunk = (*chunk)[:n+1]
	return rs.last()
}

// drop removes the last record, and room that is much more than what is left
// needs.
func (rs *records) drop() {
	last := len(rs.chunks) - 1
	chunk := &rs.chunks[last]
	n := len(*chunk) - 1
	(*chunk)[n] = record{}
	*chunk = (*chunk)[:n]
	if n > 0 {
		if cap(*chunk) > n+n/4+1 {
			*chunk = resized(*chunk, n+n/8+1)
		}
		return
	}
	*chunk = nil
	if rs.chunks = rs.chunks[:last]; last <= cap(rs.chunks)/2 {
		rs.chunks = slices.Clone(rs.chunks)
	}
}

// resized is the chunk with room for n records, and for more where that costs
// nothing.
func resized(chunk []record, n int) []record {
	return append(slices.Grow([]record(nil), min(n, chunkSize)), chunk...)
}
