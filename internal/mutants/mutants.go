package main

// What the mutants are tried on. The traces come first: they are to find every
// bug of the arithmetic by themselves.
var (
	arithmetic = []string{"./internal/trace", "-run", "^Test(Step|Local|Memory)", "-trace.ops=20000"}
	scripts    = []string{"./internal/trace", "-run", "^TestGoRedisLua$", "-trace.ops=6000"}
	deletes    = []string{"./proxy/redis", "-run", "C35|C50"} // not where clocks may differ, as in the traces
	words      = []string{"./internal/trace", "-run", "^TestLocalWord$", "-trace.ops=50000"}
	runs       = []string{"./proxy/redis", "-run", "TakesInRuns"}
	denied     = []string{"./proxy", "-run", "Denial|C61"}
	overtaken  = []string{"./proxy", "-run", "DenialsThatAreOvertaken"}
	keys       = []string{"./proxy/memory", "-short", "-run", "KeysComeAndGo"}
	most       = []string{"./proxy/memory", "-run", "MaxKeys"}
	swap       = []string{"./internal/trace", "-run", "^TestGoRedisCompareAndSwap$", "-trace.ops=6000"}
)

// mutants are the planted bugs, by where they are.
var mutants = []mutant{
	{"refill rounded up", "bucket/rate.go", "l.Tokens += int64(uint64(r.step) * q)\n", "l.Tokens += int64(uint64(r.step) * (q + 1))\n", arithmetic},
	{"remainder dropped", "bucket/rate.go", "q, lo = bits.Div64(hi, lo, uint64(r.den))\n", "q, _ = bits.Div64(hi, lo, uint64(r.den))\n\t\tlo = 0\n", arithmetic},
	{"less than a token dropped", "bucket/rate.go", "\tl.Rem = int64(lo)\n\treturn true\n", "\treturn true\n", arithmetic},
	{"less than a token earned when full", "bucket/rate.go", " || l.Tokens >= r.capacity || r.kind", " || r.kind", arithmetic},
	{"less than a token too much", "bucket/rate.go", "hi|carry != 0 || lo >= uint64(r.den)", "hi|carry != 0 || lo > uint64(r.den)", arithmetic},
	{"aligned time taken for a remainder", "bucket/rate.go", "l.Tokens >= r.capacity || r.kind == bandwidth.KindAligned {", "l.Tokens >= r.capacity {", arithmetic},
	{"wait rounded down", "bucket/rate.go", "; rem > 0 && q < math.MaxUint64 {", "; rem > 0 && q == math.MaxUint64 {", arithmetic},
	{"wait ignores what is earned", "bucket/rate.go", "q, borrow := bits.Sub64(lo, uint64(r.remainder(l, last)), 0)", "q, borrow := bits.Sub64(lo, 0, 0)", arithmetic},
	{"wait ignores an instant ahead", "bucket/rate.go", "if last > now {\n\t\tvar over", "if false {\n\t\tvar over", arithmetic},
	{"wait overflows", "bucket/rate.go", "return int64(min(q, math.MaxInt64))", "return int64(q)", arithmetic},
	{"refill above capacity", "bucket/rate.go", "if hi > fullHi || hi == fullHi && lo >= fullLo {", "if hi > fullHi || hi == fullHi && lo > fullLo+uint64(r.den) {", arithmetic},
	{"phase kept when full", "bucket/rate.go", "\tif l.Tokens >= r.capacity {\n\t\tl.Rem = 0\n", "\tif l.Tokens >= r.capacity {\n\t\tl.Rem = int64((uint64(l.Rem) + elapsed) % uint64(r.den))\n", arithmetic},
	{"aligned grid off by one", "bucket/rate.go", "if d -= r.phase; d < 0 {", "if d -= r.phase + 1; d < 0 {", arithmetic},
	{"adaptive start rounded up", "bucket/rate.go", "r.capacity - refill + int64(share)}", "r.capacity - refill + int64(share) + 1}", arithmetic},
	{"add passes capacity", "bucket/state.go", "case uint64(n) >= uint64(capacity)-uint64(l.Tokens):", "case uint64(n) > uint64(capacity)-uint64(l.Tokens)+1:", arithmetic},

	{"instant moved back", "bucket/state.go", "\tif now <= s.Last {\n", "\tif now <= s.Last {\n\t\ts.Last = now\n", arithmetic},
	{"instant not moved when full", "bucket/state.go", "\ts.Last = now\n\treturn available\n", "\tif !s.full(rates) {\n\t\ts.Last = now\n\t}\n\treturn available\n", arithmetic},
	{"maximum for minimum", "bucket/state.go", "least = min(least, s.Levels[i].Tokens)", "least = max(least*0, s.Levels[i].Tokens)", arithmetic},
	{"first bandwidth only", "bucket/state.go", "\tfor i := range rates {\n\t\tr, l := &rates[i], &levels[i]", "\tfor i := range rates[:1] {\n\t\tr, l := &rates[i], &levels[i]", arithmetic},
	{"time to full of the fastest", "bucket/probe.go", "toFull = max(toFull, r.wait", "toFull = max(0, r.wait", arithmetic},
	{"every instant believed", "bucket/state.go", "if at.Lead == 0 || at.Now > math.MaxInt64-at.Lead || s.Last <= at.Now+at.Lead {", "if true {", arithmetic},

	{"write on refusal", "bucket/step.go", "if !changed && !entered || req.Op.ReadOnly() {", "if req.Op.ReadOnly() && !changed && !entered || req.Op.ReadOnly() {", arithmetic},
	{"a read converts", "bucket/step.go", "if !changed && !entered || req.Op.ReadOnly() {", "if !changed && !entered {", arithmetic},
	{"refused conversion not written", "bucket/step.go", "e.Config, e.State = req.Config, next\n\treturn true\n", "e.Config, e.State = req.Config, next\n\treturn false\n", arithmetic},
	{"birth of a part-full bucket not written", "bucket/step.go", "return !req.Config.StartsFull()", "return false", arithmetic},
	{"conversion without settling", "bucket/step.go", "e.State.settle(stored.rates(at.Tick), at.Now)\n", "", arithmetic},
	{"an older version takes over", "bucket/step.go", "return stored.Version() == 0 || declared.Version() > stored.Version()", "return true", arithmetic},
	{"an unversioned change hands out tokens", "bucket/step.go", "next.notMore(", "func([]rate, int64) {}(", arithmetic},
	{"a version forgotten when full", "bucket/step.go", "|| e.Config.Version() > 0 ||", "||", arithmetic},
	{"refused take still charged", "bucket/step.go", "if r.Consumed && op.Kind == OpConsume {", "if op.Kind == OpConsume {", arithmetic},
	{"an estimate takes", "bucket/step.go", "if r.Consumed && op.Kind == OpConsume {", "if r.Consumed {", arithmetic},
	{"cost above capacity waits", "bucket/probe.go", "if cost > max(r.capacity, l.Tokens) {", "if false {", arithmetic},
	{"the shortest wait told", "bucket/probe.go", "; wait > longest {", "; wait < longest || longest < 0 {", arithmetic},

	{"fraction dropped on conversion", "bucket/inheritance.go", "q, _ := bits.Div64(hi, lo, uint64(old.den))\n\t\treturn int64(q)", "q, _ := bits.Div64(hi, lo, uint64(old.den))\n\t\treturn int64(q) * 0", arithmetic},
	{"pairing by position alone", "bucket/inheritance.go", "if from.Bandwidth(j).ID() != id {", "if false {", arithmetic},

	{"time to live rounded down", "expiration/expiration.go", "return add(at, 1000-past)", "return at - past", arithmetic},
	{"retention ignored", "expiration/expiration.go", "life = add(life, r.RetentionMicros())", "_ = life", arithmetic},

	{"script: remainder dropped", "proxy/redis/scripts/take.lua", "\t\tr{{.I}} = gain % den{{.I}}\n", "\t\tr{{.I}} = 0\n", scripts},
	{"script: write on refusal", "proxy/redis/scripts/take.lua", "not corrected and ({{end}}seen or ", "not corrected and ({{end}}", scripts},
	{"script: time to live too short", "proxy/redis/scripts/take.lua", "{{end}} + 999\nif ends", "{{end}} - 999999\nif ends", scripts},
	{"script: not all bandwidths asked", "proxy/redis/scripts/take.lua", "{{if $i}} and {{end}}t{{.I}} >= n{{end}} then", "{{if $i}} or {{end}}t{{.I}} >= n{{end}} then", scripts},
	{"script: instant moved back", "proxy/redis/scripts/take.lua", "if elapsed > 0 then last = now end", "last = now", scripts},
	{"script: aligned phase stored", "proxy/redis/scripts/take.lua", "{{if .Aligned}}0{{else}}r{{.I}}{{end}}", "r{{.I}}", scripts},
	{"script: doubles trusted too far", "proxy/redis/plan.go", "return hi == 0 && lo < exactDouble && lo+2*num+den < exactDouble", "return hi == 0 && lo+2*num+den > 0", []string{"./proxy/redis", "-run", "AtTheEdges"}},
	{"script: trailing bytes unseen", "proxy/redis/scripts/take.lua", "if rest ~= -1 or ", "if ", []string{"./proxy/redis", "-run", "C35Damaged|AgreeOnDamage"}},
	{"script: a fraction believed", "proxy/redis/scripts/take.lua", "held{{.I}} % 1 ~= 0 or ", "", []string{"./proxy/redis", "-run", "C35Damaged|AgreeOnDamage"}},
	{"script: what is written is not told", "proxy/redis/scripts/take.lua", "return {now, seen, 2}", "return {now, seen}", scripts},
	{"a script's refusal believed", "proxy/redis/redis.go", "wrote != (after.Change != bucket.Keep) || ", "wrote && after.Change == bucket.Keep || ", []string{"./proxy/redis", "-run", "C35Damaged|AgreeOnDamage|AtTheEdges"}},
	{"general script: add passes capacity", "proxy/redis/scripts/apply.lua", "n >= b.capacity - was and b.capacity or was + n", "was + n", scripts},
	{"general script: up to goes into debt", "proxy/redis/scripts/apply.lua", "take = math.max(math.min(n, available), 0)", "take = n", scripts},
	{"general script: full bucket kept", "proxy/redis/scripts/apply.lua", "\tredis.call('DEL', KEYS[1])\n", "", deletes},
	{"general script: retention ignored", "proxy/redis/scripts/apply.lua", "longest + keep + retention + 999", "longest + keep + 999", scripts},
	{"a corrected clock not written", "bucket/step.go", "knows its initial tokens too\n\t\treturn corrected", "knows its initial tokens too\n\t\treturn false", arithmetic},
	{"credit forgotten when full", "bucket/step.go", "req.Op.Kind == OpReplace || e.State.overfull(rates)", "req.Op.Kind == OpReplace", arithmetic},
	{"reservation however late", "bucket/step.go", "possible && at.Tick.span(wait) <= op.LongestWait", "possible && wait >= 0", arithmetic},
	{"debt wraps around", "bucket/state.go", "if s.Levels[i].Tokens < math.MinInt64+n {", "if s.Levels[i].Tokens < math.MinInt64 {", arithmetic},
	{"replacement by an older version", "bucket/step.go", "if req.Op.Kind == OpReplace && !e.Config.Equal(req.Config) {", "if false {", arithmetic},
	{"general script: reservation however late", "proxy/redis/scripts/apply.lua", "or due > tonumber(ARGV[9]) then", "then", scripts},
	{"general script: credit not remembered", "proxy/redis/scripts/apply.lua", "if over then retention = tonumber(ARGV[7]) end", "", scripts},
	{"general script: any stored configuration rules", "proxy/redis/scripts/apply.lua", "version < tonumber(ARGV[8])", "false", scripts},
	{"an overruled process not remembered", "proxy/redis/redis.go", ".overruled.Store(true)", ".overruled.Load()", []string{"./proxy/redis", "-run", "OverruledProcess"}},
	{"swap: whatever is there", "proxy/redis/scripts/swap.lua", "if seen ~= (ARGV[1] == '1' and ARGV[2]) then", "if false then", []string{"./proxy/redis", "-run", "C11|C36"}},
	{"swap: no time to live", "proxy/redis/scripts/swap.lua", "redis.call('SET', KEYS[1], ARGV[3], '{{template \"expire\" .}}', ARGV[4])", "redis.call('SET', KEYS[1], ARGV[3])", swap},
	{"script: a run takes too many", "proxy/redis/scripts/take.lua", "if taken > number then taken = number end", "", runs},
	{"script: a run asks one bandwidth only", "proxy/redis/scripts/take.lua", "\tif t{{.I}} < there then there = t{{.I}} end\n", "", runs},
	{"a run lives by its first rule", "proxy/redis/calls.go", "rule.Keep = max(rule.Keep, other.Keep)", "", []string{"./proxy/redis", "-run", "LongestRule"}},
	{"a batch sees one state", "proxy/swap.go", "\t\t\tentry = next\n", "", []string{"./proxy", "-run", "Coalescing|Callers"}},
	{"pipelines: who left before the write is charged", "proxy/redis/goredis/gate.go", "return []byte(noScript), nil", "return []byte(a.text), nil", []string{"./proxy/redis/goredis", "-run", "WhoLeaves"}},
	{"pipelines: keys do not share", "proxy/redis/goredis/pipe.go", "most, p.keepsTime = trips.ToOneServer, ", "p.keepsTime = ", []string{"./proxy/redis/goredis", "-run", "KeysShare"}},
	{"coalescing: the first deadline ends every wait", "internal/limited/limited.go", "\t\tif s.Given() {\n\t\t\treturn true\n\t\t}\n", "\t\treturn s.Given()\n", []string{"./proxy", "-run", "EachLeaves"}},
	{"coalescing: the timer is everybody's", "internal/limited/limited.go", " && !l.deadline.Before(s.first)", "", []string{"./proxy", "-run", "EachLeaves"}},
	{"coalescing: who has left is charged", "proxy/coalesce.go", "t.seats[i].empty = true", "t.seats[i].empty = false", []string{"./proxy", "-run", "Leaves"}},
	{"coalescing: the first deadline ends a trip", "proxy/coalesce.go", "} else if deadline.After(t.latest) {", "} else if t.latest.IsZero() {", []string{"./proxy", "-run", "LatestDeadline"}},
	{"failure policy: contention is trouble", "proxy/policy.go", " || errors.Is(err, ErrContended) {", " {", []string{"./proxy", "-run", "Contention"}},
	{"failure policy: who leaves is a failure", "proxy/policy.go", "ctx.Err() == context.Canceled || ", "", []string{"./proxy", "-run", "Leave"}},
	{"fall back: refunded by the other", "proxy/fallback.go", "return asks(c.Op.Kind) || c.Op.Kind == bucket.OpInspect", "return true", []string{"./proxy", "-run", "ReservationsStay|OnlyTheStore"}},
	{"fall back: its reservations are refunded", "bucket/reservation.go", " || r.Source == SourceFallback", "", []string{"./proxy", "-run", "ReservationsStay"}},
	{"denials: an epoch that is over counts", "proxy/denials.go", "if p.epochs[p.epoch] != epoch {", "if false {", overtaken},
	{"denials: nothing ends an epoch", "proxy/denials.go", "\tdelete(p.keys, p.key)\n\tp.epochs[p.epoch]++\n", "\tdelete(p.keys, p.key)\n", overtaken},
	{"denials: one that is dropped ends no epoch", "proxy/denials.go", "\ts.epochs[d.epoch]++\n", "", overtaken},
	{"denials: no witness kept", "proxy/denials.go", "\t\td.life = 0\n", "\t\treturn\n", overtaken},
	{"denials: the later of two that differ kept", "proxy/denials.go", "case d.sent.After(known.answered):", "case true:", overtaken},
	{"denials: forgotten by when the answer came", "proxy/denials.go", "int64(now.Sub(k.sent)/time.Microsecond)-passed+1", "1", denied},
	{"denials: told by when the store was asked", "proxy/denials.go", "k.seen.At, now.Sub(k.answered)", "k.seen.At, now.Sub(k.sent)", denied},
	{"denials: kept beyond the staleness", "proxy/denials.go", "age >= k.life", "age > k.life", denied},
	{"denials: a full bucket that may be gone", "proxy/denials.go", "min(fresh.life, r.TimeToFull)", "max(fresh.life, 0*r.TimeToFull)", []string{"./internal/trace", "-run", "^TestDenialsOfMemory$"}},
	{"denials: they close a breaker", "proxy/fallback.go", "errors.ErrUnsupported), remembered(&ds[i]):", "errors.ErrUnsupported):", denied},
	{"breaker: never closes", "proxy/fallback.go", "if b.failures = 0; was == b.most {", "if was == b.most {", []string{"./proxy", "-run", "FallBack"}},
	{"take: the last bandwidth only", "bucket/state.go", "available = min(available, l.Tokens)", "available = l.Tokens", words},
	{"take: a token more than there is", "bucket/local.go", "s.settle(rates, now) >= n; taken", "s.settle(rates, now) >= n-1; taken", words},
	{"take: lock let go in between", "bucket/local.go", "s.settle(rates, now) >= n; taken {\n", "s.settle(rates, now) >= n; taken {\n\t\t\tl.mu.Unlock()\n\t\t\ttime.Sleep(1)\n\t\t\tl.mu.Lock()\n", []string{"./bucket", "-run", "LocalIsLinearizable|TakersShare"}},
	{"word: idle time saved up", "bucket/word.go", "max(0, int64(full-present<<1)>>1) + cost", "int64(full-present<<1)>>1 + cost", words},
	{"word: one token too few", "bucket/word.go", "if lack > w.most {", "if lack >= w.most {", words},
	{"word: fraction dropped", "bucket/word.go", "int64(tokens*uint64(w.den) - lack)", "0", words},
	{"word: moved while it is held", "bucket/word.go", "full := w.full.Or(elsewhere)", "full := w.full.Load()", []string{"./bucket", "-run", "LocalIsLinearizable"}},
	{"word: no window", "bucket/word.go", "uint64(now-base) > w.window", "uint64(now-base) > 1<<62", []string{"./bucket", "-run", "AfterIdling"}},
	{"takes grouped and not kept together", "proxy/redis/calls.go", "len(ds) > 1 || p.isShort(c)", "p.isShort(c)", []string{"./proxy/redis", "-run", "StayTogether"}},
	{"word: a clock that goes back fills", "bucket/word.go", "now = max(now, base)", "_ = base", []string{"./bucket", "-run", "ClockThatGoesBack"}},

	{"memory: slots behind a hole", "proxy/memory/index.go", "stays := hole < home && home <= i", "stays := true || hole < home && home <= i", keys},
	{"memory: levels left behind", "proxy/memory/records.go", "\trs.setFurther(to, rs.further(from))\n", "", keys},
	{"memory: ends of keys not compared", "proxy/memory/record.go", "return key[n:] == rs.tail(p)", "return len(key[n:]) == len(rs.tail(p))", []string{"./proxy/memory", "-run", "EqualHashes"}},
	{"memory: never forgotten", "proxy/memory/memory.go", "if found && now < s.at(at).until {", "if found {", keys},
	{"memory: a take forgets nothing", "proxy/memory/memory.go", "r.config == config && now < r.until && ", "r.config == config && ", keys},
	{"memory: a take forgets early", "bucket/take.go", "Remember: !c.c.startsFull || c.c.version > 0}", "Remember: !c.c.startsFull}", keys},
	{"memory: no call stops sweeping", "proxy/memory/sweep.go", "sweepRounds   = 16", "sweepRounds   = 1 << 20", []string{"./proxy/memory", "-short", "-run", "Millions"}},
	{"memory: nothing given back", "proxy/memory/records.go", "if cap(c.records) > n+n/4+1 {", "if false {", []string{"./proxy/memory", "-short", "-run", "Forgetting"}},
	{"memory: a key too many", "proxy/memory/evict.go", "if n >= b.most {", "if n > b.most {", most},
	{"memory: the emptiest evicted", "proxy/memory/evict.go", "r.until < v.until {", "r.until > v.until {", most},
}
