package main

import (
	"net/http"
	"net/netip"
	"testing"
)

func TestClientAddress(t *testing.T) {
	const proxy, client = "10.0.0.1:4711", "203.0.113.9"
	for _, tt := range []struct {
		name, peer string
		lines      []string
		want       string
	}{
		{"no header", "198.51.100.7:1234", nil, "198.51.100.7"},
		{"untrusted peer", "198.51.100.7:1234", []string{client}, "198.51.100.7"},
		{"untrusted peer that claims to be a proxy", "198.51.100.7:1234", []string{client + ", 10.0.0.1"}, "198.51.100.7"},
		{"IPv6 peer", "[2001:db8::7]:1234", nil, "2001:db8::7"},
		{"peer with a zone", "[fe80::1%eth0]:1234", nil, "fe80::1"},
		{"peer mapped to IPv6", "[::ffff:198.51.100.7]:1234", nil, "198.51.100.7"},
		{"peer without an address", "@", []string{client}, "::"},
		{"empty peer", "", []string{client}, "::"},

		{"one hop", proxy, []string{client}, client},
		{"spoofed hop", proxy, []string{"1.2.3.4, " + client}, client},
		{"spoofed trusted hop", proxy, []string{"1.2.3.4, 10.0.0.2, " + client}, client},
		{"two proxies", proxy, []string{"1.2.3.4, " + client + ", 10.0.0.2"}, client},
		{"proxy mapped to IPv6", "[::ffff:10.0.0.1]:4711", []string{client}, client},
		{"proxy of IPv6", "[2001:db8:ffff::1]:4711", []string{client}, client},
		{"proxy of IPv6 with a zone", "[2001:db8:ffff::1%eth0]:4711", []string{client}, client},

		{"lines are one list", proxy, []string{"1.2.3.4", client}, client},
		{"the last line is right", proxy, []string{client, "10.0.0.2, 10.0.0.3", "10.0.0.4"}, client},
		{"spoofed line", proxy, []string{"1.2.3.4, 10.0.0.2", "5.6.7.8, " + client}, client},

		{"port", proxy, []string{"1.2.3.4, 203.0.113.9:8080"}, client},
		{"no space", proxy, []string{"1.2.3.4,203.0.113.9"}, client},
		{"many spaces", proxy, []string{"1.2.3.4 ,\t  203.0.113.9 \t"}, client},
		{"mapped", proxy, []string{"::ffff:203.0.113.9"}, client},
		{"mapped in hex", proxy, []string{"::ffff:cb00:7109"}, client},
		{"mapped trusted hop", proxy, []string{client + ", ::ffff:10.0.0.2"}, client},
		{"IPv6", proxy, []string{"2001:DB8:0:0::7"}, "2001:db8::7"},
		{"IPv6 in brackets", proxy, []string{"[2001:db8::7]"}, "2001:db8::7"},
		{"IPv6 with a port", proxy, []string{"[2001:db8::7]:8080"}, "2001:db8::7"},
		{"IPv6 with a zone", proxy, []string{"2001:db8::7%eth0"}, "2001:db8::7"},
		{"IPv6 with zone and port", proxy, []string{"[2001:db8::7%eth0]:8080"}, "2001:db8::7"},

		// Fewer hops than proxies: the furthest proxy that is known.
		{"empty header", proxy, []string{""}, "10.0.0.1"},
		{"only proxies", proxy, []string{"10.0.0.3, 10.0.0.2"}, "10.0.0.3"},

		// What is no address is not skipped.
		{"garbage", proxy, []string{"1.2.3.4, unknown"}, "10.0.0.1"},
		{"obfuscated", proxy, []string{"1.2.3.4, _hidden"}, "10.0.0.1"},
		{"garbage before a proxy", proxy, []string{"1.2.3.4, unknown, 10.0.0.2"}, "10.0.0.2"},
		{"garbage before the client", proxy, []string{"unknown, " + client}, client},
		{"empty hop", proxy, []string{"1.2.3.4, "}, "10.0.0.1"},
		{"empty last line", proxy, []string{"1.2.3.4", ""}, "10.0.0.1"},
		{"only commas", proxy, []string{",,,"}, "10.0.0.1"},
		{"leading zeros", proxy, []string{"1.2.3.4, 203.0.113.009"}, "10.0.0.1"},
		{"half a bracket", proxy, []string{"1.2.3.4, [2001:db8::7"}, "10.0.0.1"},
		{"a bracket alone", proxy, []string{"1.2.3.4, ["}, "10.0.0.1"},
		{"port out of range", proxy, []string{"1.2.3.4, 203.0.113.9:65536"}, "10.0.0.1"},
		{"quoted", proxy, []string{`1.2.3.4, "203.0.113.9"`}, "10.0.0.1"},
		{"host name", proxy, []string{"1.2.3.4, localhost"}, "10.0.0.1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := from(tt.peer)
			for _, line := range tt.lines {
				r.Header.Add("X-Forwarded-For", line)
			}
			if got := clientAddress(r, proxies(t)); got.String() != tt.want {
				t.Errorf("got %v, want %s", got, tt.want)
			}
		})
	}
}

func proxies(t testing.TB) prefixes {
	t.Helper()
	p, err := parsePrefixes("10.0.0.0/8, 2001:db8:ffff::/48")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestAddressKey(t *testing.T) {
	for addr, want := range map[string]string{
		"192.0.2.1":            "192.0.2.1",
		"2001:db8:1:2:3:4:5:6": "2001:db8:1:2::/64",
		"2001:db8:1:2::":       "2001:db8:1:2::/64",
		"2001:db8:1:3::":       "2001:db8:1:3::/64",
		"::":                   "::/64",
		"fe80::1":              "fe80::/64",
	} {
		if got := addressKey(netip.MustParseAddr(addr)); got != want {
			t.Errorf("%s: got %q, want %q", addr, got, want)
		}
	}
}

// FuzzClientAddress checks what holds for any peer and any header: the address
// is valid and normal, it names a bucket, an untrusted peer speaks for itself,
// and a client cannot change what its proxy says about it.
func FuzzClientAddress(f *testing.F) {
	f.Add("198.51.100.7:1234", "1.2.3.4", "5.6.7.8")
	f.Add("10.0.0.1:1234", "1.2.3.4, 10.0.0.2", "[2001:db8::7]:80")
	f.Add("[::ffff:10.0.0.1]:1234", "unknown,", "::ffff:1.2.3.4%eth0")
	f.Add("[fe80::1%eth0]:1", "[,]", "[]")
	trusted := proxies(f)
	f.Fuzz(func(t *testing.T, peer, line1, line2 string) {
		r := from(peer, "X-Forwarded-For", line1, "X-Forwarded-For", line2)
		got := clientAddress(r, trusted)
		if !got.IsValid() || got.Is4In6() || got.Zone() != "" {
			t.Errorf("%v is not in normal form", got)
		}
		if again, ok := parseAddress(got.String()); !ok || again != got {
			t.Errorf("%v is read as %v", got, again)
		}
		if key := addressKey(got); got.Is6() && !netip.MustParsePrefix(key).Contains(got) || got.Is4() && key != got.String() {
			t.Errorf("%v has the key %q", got, key)
		}
		if own, ok := parseAddress(peer); ok && !trusted.contain(own) && got != own {
			t.Errorf("%v for the untrusted peer %v", got, own)
		}

		const client = "203.0.113.9"
		for _, r := range []*http.Request{
			from("10.0.0.1:1", "X-Forwarded-For", line1, "X-Forwarded-For", line2, "X-Forwarded-For", client),
			from("10.0.0.1:1", "X-Forwarded-For", line1+","+client+", 10.0.0.2"),
		} {
			if got := clientAddress(r, trusted).String(); got != client {
				t.Errorf("%s, as the proxy says, became %s", client, got)
			}
		}
	})
}
