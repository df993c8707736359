#!lua
-- Every operation that may write and is not the short script's: a take of many
-- bandwidths or under a configuration that is stored and rules, consuming up to,
-- adding, filling. It reads the configuration from the bytes and goes through
-- it in loops.
--
-- ARGV: operation, the declared configuration's bytes ('' if none is), the rest
-- of a new bucket's bytes ('' if only the caller can make one), tokens, what a
-- key lives longer than its time-to-full, how much longer a state of the declared
-- configuration (0 if it says no more than an absent key), and one of any other,
-- the least version with which another stored configuration rules (none has 0),
-- the longest wait of a reservation
--
-- The reply is as in the short script, and so are the limits of a double. Here
-- they are checked for the stored configuration too.
{{template "clock" .}}
local op, config, birth, n = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local keep, retention = tonumber(ARGV[5]), tonumber(ARGV[6])
local exact = 2^53

local seen = redis.call('GET', KEYS[1])
local bytes, other = seen, false
if not seen then
	if config == '' then return {now, seen} end
	if birth == '' then return {now, seen, 1} end
	bytes = config .. birth
elseif config == '' or string.sub(seen, 1, #config) ~= config then
	if string.sub(seen, 1, 2) ~= '\193\1' then return {now, seen, 1} end
	other, retention = true, tonumber(ARGV[7])
end

-- The bandwidths: see the canonical form of a configuration.
local v = {cmsgpack.unpack(string.sub(bytes, 2))}
local count, at, version = v[2], 3, 0
if count < 0 then count, at, version = -count, 4, v[3] end
if other and (version < tonumber(ARGV[8]) or version >= exact) then return {now, seen, 1} end
local bandwidths = {}
for i = 1, count do
	if type(v[at]) == 'string' then at = at + 1 end
	local b = {capacity = v[at], step = 1, num = v[at + 1], den = v[at + 2]}
	at = at + 3
	if b.num < 0 then
		b.step, b.num = -b.num, 1
		if b.den < 0 then
			b.den, b.phase = -b.den, v[at]
			at = at + 1
		end
		if b.den >= 2^51 or b.capacity + b.step >= exact then return {now, seen, 1} end
	end
	if b.capacity >= exact or b.step >= exact or b.num >= exact or b.den >= exact or
		math.ceil(b.capacity / b.step) * b.den + 2 * b.num + b.den >= exact then
		return {now, seen, 1}
	end
	bandwidths[i] = b
end

-- The state. What comes before it is kept byte for byte: a double might round the
-- version. Nothing may follow it.
local kept = string.sub(bytes, 1, (cmsgpack.unpack_limit(bytes, at - 1, 1)))
local last = v[at]
if not seen then last = now end
if cmsgpack.unpack_limit(bytes, at + 2 * count, 1) ~= -1 or last % 1 ~= 0 or last >= 2^53 - 2^51 or last <= 2^51 - 2^53 then return {now, seen, 1} end
local corrected = false
{{- if .ClientClock}}
corrected = last > now + lead
if corrected then last = now + lead end
{{- end}}
for i, b in ipairs(bandwidths) do
	b.tokens, b.rem = v[at + 2 * i - 1], v[at + 2 * i]
	if b.tokens % 1 ~= 0 or b.tokens >= exact or b.rem % 1 ~= 0 or b.rem < 0 or b.rem >= ((b.phase or b.tokens >= b.capacity) and 1 or b.den) then
		return {now, seen, 1}
	end
end

-- In debt, more is missing than a configuration alone can tell: whether that
-- is still exact.
local function owes_too_much(b, tokens)
	return tokens <= -exact or
		math.ceil((b.capacity - tokens) / b.step) * b.den + 2 * b.num + b.den >= exact
end
for _, b in ipairs(bandwidths) do
	if b.tokens < 0 and owes_too_much(b, b.tokens) then return {now, seen, 1} end
end

-- How many ticks of refill, times num, are missing to so many tokens.
local function need(b, tokens)
	if b.phase then b.rem = (last - b.phase) % b.den end
	local lack = tokens - b.tokens + b.step - 1
	return (lack - lack % b.step) / b.step * b.den - b.rem
end
local function wait(b, tokens)
	local ticks = need(b, tokens) + b.num - 1
	return (ticks - ticks % b.num) / b.num
end

-- Settle: what has been earned from last to now.
local elapsed = now - last
for _, b in ipairs(bandwidths) do
	if elapsed > 0 and b.tokens < b.capacity then
		local gain = elapsed * b.num
		if gain >= need(b, b.capacity) then
			b.tokens, b.rem = b.capacity, 0
		else
			gain = b.rem + gain
			b.rem = gain % b.den
			b.tokens = b.tokens + (gain - b.rem) / b.den * b.step
		end
	end
end
if elapsed > 0 then last = now end

-- Decide how many tokens to take or to give; the latter goes up to the capacity
-- unless it is forced.
local available, full, over = exact, true, false
for _, b in ipairs(bandwidths) do
	available = math.min(available, b.tokens)
	full = full and b.tokens == b.capacity
end
local take = 0
if op == 'take' then
	if n <= available then take = n end
elseif op == 'upto' then
	take = math.max(math.min(n, available), 0)
elseif op == 'force' then
	take = n
elseif op == 'reserve' then
	take = n
	for _, b in ipairs(bandwidths) do
		local due = b.tokens < n and wait(b, n) + math.max(-elapsed, 0) or 0
		if due >= exact then return {now, seen, 1} end
		if n > math.max(b.capacity, b.tokens) or due > tonumber(ARGV[9]) then take = 0 end
	end
end

local changed = corrected or not seen and not full
for _, b in ipairs(bandwidths) do
	local was = b.tokens
	if take > 0 then
		b.tokens = was - take
		if b.tokens < 0 and owes_too_much(b, b.tokens) then return {now, seen, 1} end
	elseif op == 'force-add' then
		b.tokens = was + n
		if b.tokens >= exact then return {now, seen, 1} end
	elseif op == 'reset' then
		b.tokens = b.capacity
	elseif op == 'add' and was < b.capacity then
		b.tokens = n >= b.capacity - was and b.capacity or was + n
	end
	if b.tokens >= b.capacity then b.rem = 0 end
	changed = changed or b.tokens ~= was
	over = over or b.tokens > b.capacity
end
if not changed then return {now, seen} end
if over then retention = tonumber(ARGV[7]) end

-- Write, with a time to live of at least the time to full. A full bucket that
-- says no more than an absent key is forgotten, unless clocks differ: full by one
-- is not full by all.
local longest = 0
local state = {last}
for _, b in ipairs(bandwidths) do
	if b.tokens < b.capacity then longest = math.max(longest, wait(b, b.capacity)) end
	state[#state + 1] = b.tokens
	state[#state + 1] = b.phase and 0 or b.rem
end
{{- if not .ClientClock}}
if longest == 0 and retention == 0 then
	if not seen then return {now, seen} end
	redis.call('DEL', KEYS[1])
	return {now, seen, 2}
end
{{- end}}
if longest > 0 and elapsed < 0 then longest = longest - elapsed end
local ends = {{template "from" .}} + longest + keep + retention + 999
if ends >= exact then return {now, seen, 1} end
redis.call('SET', KEYS[1], kept .. cmsgpack.pack(unpack(state)), '{{template "expire" .}}', (ends - ends % 1000) / 1000)
return {now, seen, 2}
