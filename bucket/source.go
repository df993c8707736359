package bucket

// Source is who answered. Its names are fit for labels.
type Source uint8

// The sources.
const (
	// SourceStore is where the bucket lives.
	SourceStore Source = iota
	// SourceCoalesced is the same, on a trip shared with other callers.
	SourceCoalesced
	// SourceFallback is another store that stands in for one in trouble.
	SourceFallback
	// SourcePolicy is a rule for when the store is in trouble: no bucket was
	// asked, so of the answer only Consumed, Tokens and Wait mean anything.
	SourcePolicy
	// SourceCache is what a refusal by the store was worked out from a little
	// while ago, see proxy.CacheDenials.
	SourceCache
)

var sourceNames = [...]string{
	SourceStore: "store", SourceCoalesced: "coalesced", SourceFallback: "fallback", SourcePolicy: "policy",
	SourceCache: "cache",
}

// String is the name of the source.
func (s Source) String() string {
	if int(s) < len(sourceNames) {
		return sourceNames[s]
	}
	return "unknown source"
}
