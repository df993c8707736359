package memory

import (
	"strconv"
	"testing"
	"unsafe"
)

// A table that has been resized is not resized again by the next few changes, at
// whatever size, and never has many more slots than records.
func TestTableIsSeldomResized(t *testing.T) {
	var all table
	hash := func(i int) uint32 { return uint32(i) * 2654435761 }
	change := func(i int, there bool) (resized bool) {
		before := len(all.records)
		if p, found := all.find(hash(i), strconv.Itoa(i)); found != there {
			t.Fatalf("key %d is there: %t", i, found)
		} else if there {
			all.remove(p)
		} else {
			all.insert(hash(i), strconv.Itoa(i))
		}
		return len(all.records) != before && all.count > smallest
	}
	const most = 3000
	resizes := 0
	for i := range 2 * most {
		there := i >= most
		if there {
			i -= most
		}
		if change(i, there) {
			resizes++
		}
		for again := range 3 {
			if resized := change(i, !there); change(i, there) && resized {
				t.Fatalf("at %d records there and back are two resizes, time %d", all.count, again)
			}
		}
		if slots := len(all.records); slots > max(2*all.count, smallest) {
			t.Fatalf("%d records have %d slots", all.count, slots)
		}
	}
	if resizes > 60 {
		t.Errorf("%d resizes", resizes)
	}
	if all.count != 0 || all.records != nil {
		t.Errorf("%d are left, in %d slots", all.count, len(all.records))
	}
}

func TestCacheLines(t *testing.T) {
	if n := unsafe.Sizeof(record{}); n > 64 {
		t.Errorf("a record has %d bytes", n)
	}
	var s shard
	if n := unsafe.Offsetof(s.table) + unsafe.Offsetof(s.table.count); n > 64 {
		t.Errorf("what most calls need of a shard has %d bytes", n)
	}
	if n := unsafe.Sizeof(s); n%64 != 0 && unsafe.Sizeof(uintptr(0)) == 8 {
		t.Errorf("a shard has %d bytes, and begins in the middle of a cache line", n)
	}
}
