//go:build !amd64 && !arm64

package memory

func prefetch(*record, *uint8) {}
