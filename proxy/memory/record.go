package memory

import "github.com/sluice-go/sluice/bucket"

// record is one bucket. It holds a key of usual length itself, so that comparing
// it reads no other memory, and the level of one bandwidth. What further room
// a bucket needs is behind extra.
type record struct {
	hash   uint32 // the upper half of the key's
	length uint8  // of head in use
	head   [headSize]byte
	config bucket.Configuration
	last   int64
	level  bucket.Level
	until  int64 // the instant from which it is forgotten
	extra  *extra
}

const headSize = 19

// extra is the rest of a long key, and the levels of the second bandwidth and
// those after it.
type extra struct {
	tail   string
	levels *levels
}

type levels struct {
	bucket.Level
	next *levels
}

// setKey keeps a copy: the key may be part of something large, or of a buffer
// that is used again.
func (r *record) setKey(key string) {
	n := copy(r.head[:], key)
	r.length = uint8(n)
	if n < len(key) {
		r.extra = &extra{tail: string([]byte(key[n:]))}
	}
}

func (r *record) is(key string) bool {
	n := int(r.length)
	if len(key) < n || string(r.head[:n]) != key[:n] {
		return false
	}
	if r.extra == nil {
		return len(key) == n
	}
	return r.extra.tail == key[n:]
}

// load fills in the record as the arithmetic takes it.
func (r *record) load(e *bucket.Entry) {
	e.Config, e.State.Last = r.config, r.last
	e.State.Levels[0] = r.level
	if r.extra == nil {
		return
	}
	i := 1
	for l := r.extra.levels; l != nil; l = l.next {
		e.State.Levels[i] = l.Level
		i++
	}
}

// store is the reverse. It uses the levels that are there as far as they go.
func (r *record) store(e *bucket.Entry, until int64) {
	r.config, r.last, r.until = e.Config, e.State.Last, until
	r.level = e.State.Levels[0]
	n := e.Config.Len()
	if r.extra == nil {
		if n == 1 {
			return
		}
		r.extra = new(extra)
	}
	place := &r.extra.levels
	for i := 1; i < n; i++ {
		if *place == nil {
			*place = new(levels)
		}
		(*place).Level = e.State.Levels[i]
		place = &(*place).next
	}
	*place = nil
}
