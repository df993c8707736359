//go:build race

package proxy_test

// The race detector makes everything several times slower.
const raceDetector = true
