package integration_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/testcontainers/testcontainers-go"
)

func TestMain(m *testing.M) {
	// The reaper is an image of its own, to be pulled; tests remove what they
	// start themselves.
	if _, set := os.LookupEnv("TESTCONTAINERS_RYUK_DISABLED"); !set {
		os.Setenv("TESTCONTAINERS_RYUK_DISABLED", "true")
	}
	if err := findEngine(); err != nil {
		fmt.Fprintln(os.Stderr, "integration: a Docker engine is needed and none answers:", err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func findEngine() error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	provider, err := testcontainers.NewDockerProvider()
	if err != nil {
		return err
	}
	defer provider.Close()
	return provider.Health(ctx)
}
