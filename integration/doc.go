// Package integration runs Sluice against real servers in containers: the
// service of examples/api on Redis 7.0, Redis 8.0 and Valkey 8.1. It needs a
// Docker engine on this machine, and fails where none answers.
//
// `make integration` builds the images, which takes a minute the first time,
// and runs the suite; by hand:
//
//	scripts/images/build
//	go -C integration test -count=1 ./...
//
// Where images can be pulled, naming some saves building them:
//
//	SLUICE_TEST_IMAGES=redis:7.0,redis:8.0,valkey/valkey:8.1 make integration
//
// A container is removed when its test ends, passed or failed. A run that was
// killed may leave one behind, with the label org.testcontainers.
package integration
