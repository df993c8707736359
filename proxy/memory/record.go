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
func (t *table) name(p place, hash uint32, key string) {
	r := t.at(p)
	n := copy(r.head[:], key)
	r.hash, r.length = hash, uint8(n)
	if n < len(key) {
		t.setTail(p, string([]byte(key[n:])))
	}
}

// named tells whether a record has the key.
func (t *table) named(p place, hash uint32, key string) bool {
	r := t.at(p)
	n := int(r.length)
	switch {
	case r.hash != hash || len(key) < n || string(r.head[:n]) != key[:n]:
		return false
	case n < headSize:
		return len(key) == n
	}
	return key[n:] == beside(t.tails, p)
}

// load fills in a record as the arithmetic takes it.
func (t *table) load(p place, e *bucket.Entry) {
	r := t.at(p)
	e.Config, e.State.Last, e.State.Levels[0] = r.config, r.last, r.level
	if r.config.Len() == 1 {
		return
	}
	i := 1
	for l := beside(t.further, p); l != nil; l = l.next {
		e.State.Levels[i] = l.Level
		i++
	}
}

// store is the reverse.
func (t *table) store(p place, e *bucket.Entry, until int64) {
	r := t.at(p)
	n, before := e.Config.Len(), r.config.Len()
	r.config, r.last, r.level, r.until = e.Config, e.State.Last, e.State.Levels[0], until
	if n > 1 || before > 1 {
		t.setFurther(p, beside(t.further, p).store(e.State.Levels[1:n]))
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

// copy takes over a record, from this table or another one.
func (t *table) copy(to place, other *table, from place) {
	*t.at(to) = *other.at(from)
	t.setTail(to, beside(other.tails, from))
	t.setFurther(to, beside(other.further, from))
}

// clear empties a record.
func (t *table) clear(p place) {
	*t.at(p) = record{}
	t.setTail(p, "")
	t.setFurther(p, nil)
}

func (t *table) setTail(p place, tail string) {
	t.tails = put(t.tails, p, tail, len(t.records))
}

func (t *table) setFurther(p place, l *levels) {
	t.further = put(t.further, p, l, len(t.records))
}

// beside is what a record has beside it; zero if there is nothing.
func beside[T any](all []T, p place) (v T) {
	if all != nil {
		v = all[p]
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
	all[p] = v
	return all
}
