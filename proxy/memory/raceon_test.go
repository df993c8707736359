//go:build race

package memory_test

// The race detector makes everything several times slower.
const raceDetector = true
