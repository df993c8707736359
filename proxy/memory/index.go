package memory

import "slices"

// index finds the places of records by the hashes of their keys: a hash table
// with linear probing. A slot has a part of the hash, so growing and shrinking
// touches no record, and a slot that is not the right one is hardly ever
// followed.
type index []slot

// slot is a hash, and a place plus one; 0 is an empty slot.
type slot uint64

func newSlot(hash uint32, p place) slot { return slot(hash)<<32 | slot(p) + 1 }

func (s slot) hash() uint32 { return uint32(s >> 32) }

func (s slot) place() place { return place(s - 1) }

// home is where the slot of a hash would like to be.
func (x index) home(hash uint32) int { return int(uint64(hash) * uint64(len(x)) >> 32) }

func (x index) next(i int) int {
	if i++; i < len(x) {
		return i
	}
	return 0
}

// put puts a slot in the first empty one from its home. There must be one.
func (x index) put(s slot) {
	i := x.home(s.hash())
	for x[i] != 0 {
		i = x.next(i)
	}
	x[i] = s
}

// find is where a slot is. It must be there.
func (x index) find(s slot) int {
	i := x.home(s.hash())
	for x[i] != s {
		i = x.next(i)
	}
	return i
}

// remove empties a slot and moves up those behind that are not at home.
func (x index) remove(s slot) {
	hole := x.find(s)
	for i := x.next(hole); x[i] != 0; i = x.next(i) {
		home := x.home(x[i].hash())
		stays := hole < home && home <= i // its home is not beyond the hole
		if i < hole {
			stays = hole < home || home <= i
		}
		if !stays {
			x[hole] = x[i]
			hole = i
		}
	}
	x[hole] = 0
}

// fit returns the index with room for n slots: a half to four fifths of it are in
// use, and three fifths when it has just been resized.
func (x index) fit(n int) index {
	switch {
	case n == 0:
		return nil
	case 4*len(x) < 5*n, len(x) > 2*n:
		return x.resized(n + n*2/3 + 1)
	}
	return x
}

// resized is the index with n slots, and more where that costs nothing.
func (x index) resized(n int) index {
	next := slices.Grow(index(nil), n)
	next = next[:cap(next)]
	for _, s := range x {
		if s != 0 {
			next.put(s)
		}
	}
	return next
}
