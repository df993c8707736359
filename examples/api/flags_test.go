package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

func TestDefaults(t *testing.T) {
	s, err := parseFlags(nil, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	if s.addr != "127.0.0.1:8080" || s.mode != nil || s.proxies != nil || s.timeout != 250*time.Millisecond ||
		!slices.Equal(s.apiKeys, []string{"demo-key-1", "demo-key-2"}) {
		t.Errorf("got %+v", s)
	}
}

func TestFlags(t *testing.T) {
	s, err := parseFlags([]string{
		"-addr", ":0", "-mode", "cas", "-api-keys", " a , b", "-trusted-proxies", "10.0.0.0/8, ::ffff:192.0.2.1,2001:db8::/32",
		"-client", "rueidis", "-on-failure", "local", "-timeout", "1s", "-store", "rediss://user:secret@redis.example/7",
	}, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	if s.addr != ":0" || len(s.mode) != 1 || !slices.Equal(s.apiKeys, []string{"a", "b"}) {
		t.Errorf("got %+v", s)
	}
	var proxies []string
	for _, p := range s.proxies {
		proxies = append(proxies, p.String())
	}
	if want := []string{"10.0.0.0/8", "192.0.2.1/32", "2001:db8::/32"}; !slices.Equal(proxies, want) {
		t.Errorf("proxies %v, want %v", proxies, want)
	}
	if s.timeout != time.Second {
		t.Errorf("timeout %v", s.timeout)
	}
}

// The URL tells which kind of client it takes.
func TestGoRedisClients(t *testing.T) {
	for _, tt := range []struct{ url, kind string }{
		{"redis://user:secret@redis.example/7?read_timeout=3s", "*redis.Client"},
		{"rediss://redis.example", "*redis.Client"},
		{"redis://a.example:26379?master_name=main&addr=b.example:26379", "*redis.Client"},
		{"redis://a.example?addr=b.example:6379", "*redis.ClusterClient"},
	} {
		client, err := goRedisClient(tt.url)
		if err != nil {
			t.Errorf("%s: %v", tt.url, err)
			continue
		}
		c := client()
		if got := fmt.Sprintf("%T", c); got != tt.kind {
			t.Errorf("%s: a %s, want a %s", tt.url, got, tt.kind)
		}
		if c, ok := c.(*redis.Client); ok && c.Options().DialTimeout != socketTimeout {
			t.Errorf("%s: dial timeout %v", tt.url, c.Options().DialTimeout)
		}
		c.Close()
	}
}

func TestNoKeysAtAll(t *testing.T) {
	if s, err := parseFlags([]string{"-api-keys", ""}, t.Output()); err != nil || len(s.apiKeys) != 0 {
		t.Errorf("got %q, %v", s.apiKeys, err)
	}
}

// Both clients take the same URLs of a server.
func TestRueidisURLs(t *testing.T) {
	for _, url := range []string{"redis://localhost", "redis://localhost/", "redis://u:p@localhost:1/3", "redis://localhost/?master_name=m"} {
		if _, err := onRueidis(url); err != nil {
			t.Errorf("%s: %v", url, err)
		}
	}
}

// Each bad flag is named, all of them are told at once, and secrets never.
func TestBadFlags(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want []string
	}{
		{[]string{"-addr", "localhost"}, []string{"-addr: ", "missing port"}},
		{[]string{"-addr", "localhost:99999"}, []string{"-addr: ", "99999"}},
		{[]string{"-mode", "both"}, []string{`-mode: "both" is none of lua, cas`}},
		{[]string{"-api-keys", "secret,,b"}, []string{"-api-keys: key 2 of 3 is empty"}},
		{[]string{"-trusted-proxies", "10.0.0.0/33"}, []string{`-trusted-proxies: "10.0.0.0/33"`}},
		{[]string{"-trusted-proxies", "10.0.0.0/8,"}, []string{`-trusted-proxies: ""`}},
		{[]string{"-trusted-proxies", "::ffff:10.0.0.0/104"}, []string{"-trusted-proxies: ", "IPv4"}},
		{[]string{"-store", ""}, []string{"-store: "}},
		{[]string{"-store", "http://:secret@localhost"}, []string{"-store: ", "redis://"}},
		{[]string{"-store", "localhost:6379"}, []string{"-store: ", "redis://"}},
		{[]string{"-store", "redis://:secret/word@localhost"}, []string{"-store: ", "%2F"}},
		{[]string{"-store", "redis://:1234/secret@localhost"}, []string{"-store: ", "%2F"}},
		{[]string{"-store", "redis://user:secret%zz@localhost"}, []string{"-store: "}},
		{[]string{"-store", "redis://:secret@localhost/x"}, []string{"-store: "}},
		{[]string{"-store", "redis://:secret@localhost?no_such=1"}, []string{"-store: "}},
		{[]string{"-client", "radix"}, []string{`-client: "radix" is none of goredis, rueidis`}},
		{[]string{"-on-failure", "panic"}, []string{`-on-failure: "panic" is none of error, allow, deny, local`}},
		{[]string{"-timeout", "0s"}, []string{"-timeout: 0s"}},
		{[]string{"-client", "rueidis", "-store", "redis://:secret@localhost/x"}, []string{"-store: "}},
		{[]string{"-client", "rueidis", "-store", "redis://:secret/word@localhost"}, []string{"-store: "}},
		{[]string{"-store", "redis://:secret@localhost?master_name=m&no_such=1"}, []string{"-store: "}},
		{[]string{"-store", "redis://:secret@localhost?addr=b&no_such=1"}, []string{"-store: "}},
		{[]string{"-no-such", "1"}, []string{"-no-such"}},
		{[]string{"redis://:secret@localhost"}, []string{"only flags"}},
		{[]string{"-mode", "both", "-addr", "x"}, []string{"-mode: ", "-addr: "}},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // should the flags be taken for good, the program ends at once
		var out strings.Builder
		if code := run(ctx, tt.args, &out); code != 2 {
			t.Errorf("%q: exit code %d, want 2", tt.args, code)
		}
		message, usage, _ := strings.Cut(out.String(), "Usage of api:")
		for _, want := range tt.want {
			if !strings.Contains(message, want) {
				t.Errorf("%q: told %q, want %q in it", tt.args, message, want)
			}
		}
		if strings.Contains(out.String(), "secret") {
			t.Errorf("%q: told %q, with a secret", tt.args, message)
		}
		if !strings.Contains(usage, "-trusted-proxies") {
			t.Errorf("%q: no usage in %q", tt.args, out.String())
		}
	}
}

func TestHelp(t *testing.T) {
	var out strings.Builder
	if code := run(t.Context(), []string{"-h"}, &out); code != 0 || !strings.Contains(out.String(), "-trusted-proxies") {
		t.Errorf("exit code %d and %q, want 0 and the usage", code, out.String())
	}
}
