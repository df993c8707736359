package redis_test

import (
	"errors"
	"testing"

	"github.com/sluice-go/sluice/proxy/redis"
)

func TestParseReply(t *testing.T) {
	for _, tt := range []struct {
		name  string
		reply any
		want  redis.Reply
	}{
		{"absent", []any{int64(7), nil}, redis.Reply{Now: 7}},
		{"present", []any{int64(7), "b"}, redis.Reply{Now: 7, Bytes: []byte("b")}},
		{"empty is not absent", []any{int64(7), ""}, redis.Reply{Now: 7, Bytes: []byte{}}},
		{"undone", []any{int64(-7), "b", int64(1)}, redis.Reply{Now: -7, Bytes: []byte("b"), Done: redis.Undone}},
	} {
		got, err := redis.ParseReply(tt.reply)
		if err != nil || got.Now != tt.want.Now || string(got.Bytes) != string(tt.want.Bytes) ||
			(got.Bytes == nil) != (tt.want.Bytes == nil) || got.Done != tt.want.Done {
			t.Errorf("%s: got %+v, %v; want %+v", tt.name, got, err, tt.want)
		}
	}
	for _, reply := range []any{
		nil, "OK", int64(1),
		[]any{},
		[]any{int64(1)},
		[]any{int64(1), nil, int64(1), int64(1)},
		[]any{"1", nil},
		[]any{nil, nil},
		[]any{int64(1), int64(1)},
		[]any{int64(1), []byte("b")},
		[]any{1.5, nil},
		map[any]any{},
	} {
		if _, err := redis.ParseReply(reply); !errors.Is(err, redis.ErrMalformedReply) {
			t.Errorf("%#v: got %v, want an ErrMalformedReply", reply, err)
		}
	}
}
