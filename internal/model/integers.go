package model

import (
	"math"
	"math/big"
)

var (
	zero     = big.NewInt(0)
	one      = big.NewInt(1)
	greatest = big.NewInt(math.MaxInt64)
	least    = big.NewInt(math.MinInt64)
)

func add(a, b *big.Int) *big.Int { return new(big.Int).Add(a, b) }
func sub(a, b *big.Int) *big.Int { return new(big.Int).Sub(a, b) }
func mul(a, b *big.Int) *big.Int { return new(big.Int).Mul(a, b) }

// floor and ceil divide by a positive b and round down and up.
func floor(a, b *big.Int) *big.Int { return new(big.Int).Div(a, b) }

func ceil(a, b *big.Int) *big.Int {
	return floor(sub(add(a, b), one), b)
}

func minimum(a, b *big.Int) *big.Int {
	if b.Cmp(a) < 0 {
		return b
	}
	return a
}

func maximum(a, b *big.Int) *big.Int {
	if b.Cmp(a) > 0 {
		return b
	}
	return a
}

// saturated is the nearest integer that int64 holds.
func saturated(a *big.Int) int64 { return maximum(least, minimum(greatest, a)).Int64() }
