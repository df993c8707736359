package histories_test

import (
	"context"
	"os"
	"testing"

	goclient "github.com/redis/go-redis/v9"
)

// silent keeps go-redis from telling of each failed dial between the lines of progress.
type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

func TestMain(m *testing.M) {
	goclient.SetLogger(silent{})
	os.Exit(m.Run())
}
