package main

import (
	"context"
	"errors"
	"log/slog"

	"github.com/sluice-go/sluice/proxy"
)

// observer logs each call of the store that failed, whatever its caller was
// answered in its place. Callers who hang up are no failure.
type observer struct{ log *slog.Logger }

func (o observer) Observe(_ context.Context, e proxy.Event) {
	if e.Kind == proxy.StoreFailed && !errors.Is(e.Err, context.Canceled) {
		o.log.Error("no decision", "err", e.Err)
	}
}
