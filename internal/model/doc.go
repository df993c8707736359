// Package model is what every bucket is held against: the rules of a bucket in
// big integers, slow and obvious, written apart from package bucket so that the
// two can disagree.
//
// Nothing here overflows, so nothing needs care: amounts are counted in grains,
// parts of a token so small that every nanosecond brings a whole number of
// them, and instants in nanoseconds whatever the tick. Only what an answer
// shows is rounded and cut to int64, at the end.
package model
