package memory

import "slices"

// index finds the places of records by the hashes of their keys: a hash table
// of eight bytes a slot, with linear probing. Slots have the upper half of the
// hash, so growing and shrinking touches no record, and a slot that is not the
// right one is seldom followed.
type index []slot

// slot is the upper half of a hash, and a place plus one; 0 is an empty slot.
type slot uint64

func newSlot(hash uint64, p place) slot { return slot(hash&^(1<<32-1)) | slot(p) + 1 }

func (s slot) place() place { return place(s - 1) }

// fits tells whether the slot may be that of a key with the hash.
func (s slot) fits(hash uint64) bool { return uint64(s)>>32 == hash>>32 }

// home is where a slot would like to be.
func (x index) home(hash uint64) int { return int(hash >> 32 * uint64(len(x)) >> 32) }

func (x index) next(i int) int {
	if i++; i < len(x) {
		return i
	}
	return 0
}

// set puts a slot in the first empty one from its home. There must be one.
func (x index) set(s slot) {
	i := x.home(uint64(s))
	for x[i] != 0 {
		i = x.next(i)
	}
	x[i] = s
}

// locate finds the slot that is s. It must be there.
func (x index) locate(s slot) int {
	i := x.home(uint64(s))
	for x[i] != s {
		i = x.next(i)
	}
	return i
}

// unset empties a slot and moves up those behind that are not at home.
func (x index) unset(hole int) {
	for i := x.next(hole); x[i] != 0; i = x.next(i) {
		home := x.home(uint64(x[i]))
		reachable := hole < home && home <= i // without passing the hole
		if i < hole {
			reachable = hole < home || home <= i
		}
		if !reachable {
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
	case 5*n > 4*len(x):
		return x.resized(5 * n / 3)
	case 2*n < len(x):
		return x.resized(5 * n / 3)
	}
	return x
}

// resized is the index with n slots, or what the allocator gives at their price.
func (x index) resized(n int) index {
	next := slices.Grow(index(nil), n+1)
	next = next[:cap(next)]
	for _, s := range x {
		if s != 0 {
			next.set(s)
		}
	}
	return next
}
