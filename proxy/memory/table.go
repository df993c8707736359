package memory

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// table finds records by the hashes of their keys: a hash table with linear probing
// that holds the records themselves. Whatever its size, a key that is there costs two
// cache lines of it, of which one is small: for each slot in use there is a mark, a
// byte of the hash. Eight are compared at a time, and hardly ever a record is looked
// at that is not the right one.
type table struct {
	records []record // in their slots
	marks   []uint8  // of the slots, 0: empty; the first few once more at the end
	count   int
	tails   []string  // of long keys, beside their records; nil: of none
	further []*levels // likewise
}

// place is the slot of a record.
type place int

// again is how many marks are there twice, so that eight can be read from any slot.
const again = 7

// mark is made of bits that do not decide where the home of a hash is. It is not 0.
func mark(hash uint32) uint8 { return max(uint8(hash), 1) }

// home is the slot that a hash would like to have.
func (t *table) home(hash uint32) place {
	return place(uint64(hash) * uint64(len(t.records)) >> 32)
}

// after is the slot n behind another, the first one being behind the last.
func (t *table) after(p, n place) place {
	if p += n; p >= place(len(t.records)) {
		p -= place(len(t.records))
	}
	return p
}

// way is how far it is on from one slot to another.
func (t *table) way(from, to place) place {
	if to < from {
		to += place(len(t.records))
	}
	return to - from
}

const (
	ones  = 0x0101010101010101
	highs = ones << 7
)

// zeros has the upper bit of each byte set that is 0 in v. The upper bit of a 1 that
// comes after such a byte may be set too.
func zeros(v uint64) uint64 { return (v - ones) &^ v & highs }

// find is the place of a key's record, if there is one.
func (t *table) find(hash uint32, key string) (place, bool) {
	if len(t.records) == 0 {
		return 0, false
	}
	same := uint64(mark(hash)) * ones
	for p := t.home(hash); ; p = t.after(p, 8) {
		eight := binary.LittleEndian.Uint64(t.marks[p:])
		for found := zeros(eight ^ same); found != 0; found &= found - 1 {
			if at := t.after(p, place(bits.TrailingZeros64(found)/8)); t.named(at, hash, key) {
				return at, true
			}
		}
		if zeros(eight) != 0 { // probes end at an empty slot
			return 0, false
		}
	}
}

// fetch has the processor fetch the home of a hash, where three fifths of all records
// are, and its mark. To know better it would have to wait for the marks.
func (t *table) fetch(hash uint32) {
	if len(t.records) > 0 {
		p := t.home(hash)
		prefetch(&t.records[p], &t.marks[p])
	}
}

func (t *table) at(p place) *record { return &t.records[p] }

// insert adds a key that is not there.
func (t *table) insert(hash uint32, key string) place {
	t.fit(t.count + 1)
	p := t.use(hash)
	t.name(p, hash, key)
	return p
}

// use takes the first empty slot from the home of a hash. There must be one.
func (t *table) use(hash uint32) place {
	p := t.home(hash)
	for t.marks[p] != 0 {
		p = t.after(p, 1)
	}
	t.set(p, mark(hash))
	t.count++
	return p
}

func (t *table) set(p place, mark uint8) {
	t.marks[p] = mark
	if p < again {
		t.marks[len(t.records)+int(p)] = mark
	}
}

// remove forgets the record at a place, and moves up those behind that are not at
// home, so that no probe ends before it should.
func (t *table) remove(hole place) {
	for p := t.after(hole, 1); t.marks[p] != 0; p = t.after(p, 1) {
		if home := t.home(t.at(p).hash); t.way(home, p) >= t.way(hole, p) {
			t.copy(hole, t, p)
			t.set(hole, t.marks[p])
			hole = p
		}
	}
	t.clear(hole)
	t.set(hole, 0)
	t.count--
	t.fit(t.count)
}

// fit gives the table room for n records and gives back what is much more: between
// three fifths and seven eighths of the slots are in use, and after a change so many
// that the next one is far off. So a new key costs the moves of a few others.
func (t *table) fit(n int) {
	switch slots := len(t.records); {
	case n == 0:
		*t = table{}
	case 8*n > 7*slots:
		t.resize(max(n+n/3+1, smallest))
	case 5*n < 3*slots && slots > smallest:
		t.resize(max(n+n/4, smallest))
	}
}

// smallest is how many slots there are at least: so many marks are read at a time.
const smallest = again + 1

// resize has n slots, and more where that costs nothing.
func (t *table) resize(n int) {
	old := *t
	t.records = slices.Grow([]record(nil), n)
	t.records = t.records[:cap(t.records)]
	t.marks, t.count = make([]uint8, len(t.records)+again), 0
	t.tails, t.further = nil, nil
	for p := range place(len(old.records)) {
		if old.marks[p] != 0 {
			t.copy(t.use(old.at(p).hash), &old, p)
		}
	}
}

// next is the first slot in use, from one on. There must be one.
func (t *table) next(p place) place {
	if p >= place(len(t.records)) {
		p = 0
	}
	for t.marks[p] == 0 {
		p = t.after(p, 1)
	}
	return p
}
