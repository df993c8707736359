package faults_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	goclient "github.com/redis/go-redis/v9"
)

// silent keeps go-redis from telling of each failed dial between the lines of the tables.
type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

func TestMain(m *testing.M) {
	goclient.SetLogger(silent{})
	if with := os.Getenv(childVariable); with != "" {
		if err := takeAsChild(with); err != nil {
			fmt.Println(err) // no line that a rival may say
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}
