package redis

import (
	"context"
	"errors"
	"strings"
)

// run carries out calls, once more with the text of scripts that the server
// does not know (yet, after a restart, or any more).
func (b *Backend) run(ctx context.Context, calls []Call) {
	if len(calls) == 0 {
		return
	}
	b.client.Run(ctx, calls, false)
	var unknown []Call
	var asked []int
	for i := range calls {
		if isServerError(calls[i].Err, "NOSCRIPT") {
			calls[i].Err = nil
			unknown, asked = append(unknown, calls[i]), append(asked, i)
		}
	}
	if len(unknown) == 0 {
		return
	}
	b.client.Run(ctx, unknown, true)
	for j, i := range asked {
		calls[i] = unknown[j]
	}
}

// isServerError tells whether the server answered with an error of a kind.
// Proxies may put words before it.
func isServerError(err error, kind string) bool {
	return strings.Contains(own(err), kind)
}

// own is the part of an error reply that is the server's: what it quotes, such
// as a key, may say anything.
func own(err error) string {
	if err == nil {
		return "" // as nearly always: no variable of it escapes then
	}
	var reply *ServerError
	if !errors.As(err, &reply) {
		return ""
	}
	text, _, _ := strings.Cut(reply.Text, "'")
	text, _, _ = strings.Cut(text, "`")
	return text
}

// isScriptFault tells that a script stumbled over what it found, such as bytes
// that are no bucket, before it wrote anything.
func isScriptFault(err error) bool {
	return strings.HasPrefix(own(err), "ERR ") && isServerError(err, "script")
}
