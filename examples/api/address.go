package main

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// prefixes is a set of addresses.
type prefixes []netip.Prefix

func (p prefixes) contain(a netip.Addr) bool {
	return slices.ContainsFunc(p, func(prefix netip.Prefix) bool { return prefix.Contains(a) })
}

// clientAddress is where a request comes from: the peer of the connection, or,
// if that is a trusted proxy, the address that it forwards for, and so on from
// the right end of X-Forwarded-For to the first address that is not trusted.
// What is further left was written by the client, who may write anything.
//
// So an address counts only if a trusted proxy has written it. The walk also
// ends, at the last address that counts, where the list does and at a hop that
// is no address: to skip that hop would be to believe what is left of it, and
// whoever can make a proxy write nonsense would have a new bucket for each
// request. As it is, such callers share the proxy's.
//
// A peer without an address, which TCP does not have, is the unspecified one.
func clientAddress(r *http.Request, trusted prefixes) netip.Addr {
	client, ok := parseAddress(r.RemoteAddr)
	if !ok {
		return netip.IPv6Unspecified()
	}
	hops := strings.Join(r.Header.Values("X-Forwarded-For"), ",") // all lines are one list
	for hops != "" && trusted.contain(client) {
		comma := strings.LastIndexByte(hops, ',')
		hop, ok := parseAddress(hops[comma+1:])
		if !ok {
			break
		}
		client, hops = hop, hops[:max(comma, 0)]
	}
	return client
}

// parseAddress reads an address as peers and proxies write it: with spaces
// around, with a port, in brackets. One address comes out in one form: IPv4
// mapped to IPv6 as IPv4, and without the zone, which means something to one
// machine only.
func parseAddress(text string) (netip.Addr, bool) {
	text = strings.TrimSpace(text)
	if end := len(text) - 1; end > 0 && text[0] == '[' && text[end] == ']' {
		text = text[1:end]
	}
	addr, err := netip.ParseAddr(text)
	if err != nil {
		var withPort netip.AddrPort
		withPort, err = netip.ParseAddrPort(text)
		addr = withPort.Addr()
	}
	return addr.Unmap().WithZone(""), err == nil
}

// addressKey names the bucket of an address: one IPv4 address, or the IPv6 /64
// that a customer gets at the least and may use all of.
func addressKey(a netip.Addr) string {
	if a.Is4() {
		return a.String()
	}
	return netip.PrefixFrom(a, 64).Masked().String()
}
