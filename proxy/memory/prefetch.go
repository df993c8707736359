//go:build amd64 || arm64

package memory

// prefetch has the processor begin to load a record, and does not wait for it.
//
//go:noescape
func prefetch(r *record)
