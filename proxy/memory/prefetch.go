//go:build amd64 || arm64

package memory

// prefetch has the processor begin to load a record and a mark, and does not wait
// for them.
//
//go:noescape
func prefetch(r *record, mark *uint8)
