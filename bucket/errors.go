package bucket

import "github.com/sluice-go/sluice/bandwidth"

// ErrInvalidArgument is [bandwidth.ErrInvalidArgument]: bad input, refused
// before anything was charged.
var ErrInvalidArgument = bandwidth.ErrInvalidArgument

// ArgumentError is [bandwidth.ArgumentError].
type ArgumentError = bandwidth.ArgumentError
