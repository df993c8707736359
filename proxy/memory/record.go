package memory

import "github.com/sluice-go/sluice/bucket"

// record is one bucket in one cache line: a key of usual length, so that comparing
// it reads no other memory, and the level of one bandwidth. The rest of a long key
// and further levels are beside it.
type record struct {
	hash   uint32 // the upper half of the key's
	length uint8  // of head in use
	head   [headSize]byte
	config bucket.Configuration
	last   int64
	level  bucket.Level
	until  int64 // the instant from which it is forgotten
}

const headSize = 19

// levels are those of the second bandwidth and the ones after it.
type levels struct {
	bucket.Level
	next *levels
}

// name gives a new record its key. It keeps a copy: the key may be part of
// something large, or of a buffer that is used again.
func (rs *records) name(p place, hash uint32, key string) {
	r := rs.at(p)
	n := copy(r.head[:], key)
	r.hash, r.length = hash, uint8(n)
	if n < len(key) {
		rs.setTail(p, string([]byte(key[n:])))
	}
}

// named tells whether a record has the key.
func (rs *records) named(p place, key string) bool {
	r := rs.at(p)
	n := int(r.length)
	switch {
	case len(key) < n || string(r.head[:n]) != key[:n]:
		return false
	case n < headSize:
		return len(key) == n
	}
	return key[n:] == rs.tail(p)
}

// load fills in a record as the arithmetic takes it.
func (rs *records) load(p place, e *bucket.Entry) {
	r := rs.at(p)
	e.Config, e.State.Last, e.State.Levels[0] = r.config, r.last, r.level
	if r.config.Len() == 1 {
		return
	}
	i := 1
	for l := rs.further(p); l != nil; l = l.next {
		e.State.Levels[i] = l.Level
		i++
	}
}

// store is the reverse.
func (rs *records) store(p place, e *bucket.Entry, until int64) {
	r := rs.at(p)
	n, before := e.Config.Len(), r.config.Len()
	r.config, r.last, r.level, r.until = e.Config, e.State.Last, e.State.Levels[0], until
	if n > 1 || before > 1 {
		rs.setFurther(p, rs.further(p).store(e.State.Levels[1:n]))
	}
}

// store uses the levels that are there as far as they go.
func (l *levels) store(all []bucket.Level) *levels {
	if len(all) == 0 {
		return nil
	}
	if l == nil {
		l = new(levels)
	}
	l.Level, l.next = all[0], l.next.store(all[1:])
	return l
}
