package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/sluice-go/sluice/proxy"
	"github.com/sluice-go/sluice/proxy/redis"
)

// settings is what the flags say.
type settings struct {
	addr    string
	open    opener
	mode    []redis.Option // how Redis decides
	policy  func(proxy.Backend) proxy.Backend
	timeout time.Duration // of a call of the store
	apiKeys []string
	proxies []netip.Prefix
}

// parseFlags reads and checks the flags. What is wrong with them, or how to use
// them, is written to out.
func parseFlags(args []string, out io.Writer) (settings, error) {
	flags := flag.NewFlagSet("api", flag.ContinueOnError)
	flags.SetOutput(out)
	addr := flags.String("addr", "127.0.0.1:8080", "listen on `host:port`")
	store := flags.String("store", "memory", "keep the buckets in memory or at a redis:// or rediss:// `URL`; with ?master_name= of Sentinel, with ?addr= of a cluster")
	client := flags.String("client", "goredis", "talk to Redis by `goredis` or rueidis")
	policy := flags.String("on-failure", "error", "while Redis is in trouble answer 503 (`error`), serve (allow), refuse (deny), or keep the limits in this process (local)")
	timeout := flags.Duration("timeout", proxy.DefaultTimeout, "wait so long for Redis before that is trouble")
	mode := flags.String("mode", "lua", "decide by a script in Redis (`lua`), or here and compare and swap (cas); both may share a Redis")
	apiKeys := flags.String("api-keys", "demo-key-1,demo-key-2", "the known `keys`, separated by commas")
	proxies := flags.String("trusted-proxies", "", "believe X-Forwarded-For from these `prefixes`, separated by commas, such as 10.0.0.0/8")
	if err := flags.Parse(args); err != nil {
		return settings{}, err
	}

	var s settings
	var faults []error
	fault := func(flag string, err error) {
		if err != nil {
			faults = append(faults, fmt.Errorf("-%s: %w", flag, err))
		}
	}
	var err error
	s.addr, err = *addr, checkAddr(*addr)
	fault("addr", err)
	s.open, err = parseStore(*store, *client)
	fault("store", err)
	fault("client", oneOf(*client, "goredis", "rueidis"))
	fault("on-failure", oneOf(*policy, "error", "allow", "deny", "local"))
	s.policy = policies[*policy]
	s.timeout, err = *timeout, checkTimeout(*timeout)
	fault("timeout", err)
	s.mode, err = parseMode(*mode)
	fault("mode", err)
	s.apiKeys, err = parseKeys(*apiKeys)
	fault("api-keys", err)
	s.proxies, err = parsePrefixes(*proxies)
	fault("trusted-proxies", err)
	if flags.NArg() > 0 {
		faults = append(faults, errors.New("only flags are allowed: there is an argument without one"))
	}

	if err := errors.Join(faults...); err != nil {
		fmt.Fprintln(out, err)
		flags.Usage()
		return settings{}, err
	}
	return s, nil
}

func checkAddr(addr string) error {
	_, port, err := net.SplitHostPort(addr)
	if err == nil {
		_, err = net.LookupPort("tcp", port)
	}
	return err
}

func checkTimeout(d time.Duration) error {
	if d < time.Millisecond || d > time.Minute {
		return fmt.Errorf("%v is not from 1ms to 1m", d)
	}
	return nil
}

func parseMode(mode string) ([]redis.Option, error) {
	if mode == "cas" {
		return []redis.Option{redis.WithCompareAndSwap()}, nil
	}
	return nil, oneOf(mode, "lua", "cas")
}

func oneOf(word string, words ...string) error {
	if slices.Contains(words, word) {
		return nil
	}
	return fmt.Errorf("%q is none of %s", word, strings.Join(words, ", "))
}

// parseKeys refuses an empty key, which all callers without a key would have.
func parseKeys(text string) ([]string, error) {
	keys := list(text)
	if i := slices.Index(keys, ""); i >= 0 {
		return nil, fmt.Errorf("key %d of %d is empty", i+1, len(keys))
	}
	return keys, nil
}

// parsePrefixes takes an address for the prefix of it alone.
func parsePrefixes(text string) ([]netip.Prefix, error) {
	var parsed []netip.Prefix
	for _, text := range list(text) {
		prefix, err := netip.ParsePrefix(text)
		if addr, ok := parseAddress(text); ok {
			prefix, err = addr.Prefix(addr.BitLen())
		}
		switch {
		case err != nil:
			return nil, fmt.Errorf("%q is neither a prefix such as 10.0.0.0/8 nor an address", text)
		case prefix.Addr().Is4In6():
			return nil, fmt.Errorf("%q would match nothing: addresses mapped to IPv6 count as IPv4, so write it as such", text)
		}
		parsed = append(parsed, prefix)
	}
	return parsed, nil
}

// list is what stands between the commas of a text, nothing if it is blank.
func list(text string) []string {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	parts := strings.Split(text, ",")
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	return parts
}
