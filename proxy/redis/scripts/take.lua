{{- /* The greatest number reached for a bandwidth in debt, rounded up. */ -}}
{{define "owed" -}}
{{if .Interval}}((c{{.I}} - held{{.I}}) / step{{.I}} + 2) * den{{.I}} + c{{.I}} - held{{.I}} + step{{.I}}
{{- else}}(c{{.I}} - held{{.I}} + 1) * den{{.I}} + 2 * rate{{.I}}{{end}}
{{- end -}}
#!lua
-- Takes tokens, all or none: the script of nearly every call, so it is
-- generated for each shape of configuration, with local variables in place of
-- loops and tables.
--
-- ARGV: the configuration's bytes,{{if .Given}} the rest of a new bucket's bytes,{{end}}{{if .Runs}} what a key lives longer than its
-- time-to-full in microseconds, and for each run of takes with one cost their
-- number and the cost{{else}} the cost, and what a key lives
-- longer than its time-to-full in microseconds. Each argument is work for the
-- server, so a cost of 1 and a life no longer are left out at the end{{end}}
--
-- The reply is the instant and the bytes seen; Go repeats the decision from
-- them and explains it. A third value of 2 tells that the script has written, and
-- one of 1 hands the decision to compare-and-swap: another configuration, damage,
-- or numbers that a double might round. What a write rests on is checked here: Go
-- has seen to it that what follows from the configuration alone stays below 2^53,
-- and comparisons with need are safe because rounding is monotone. A refusal is
-- not checked: where Go, which is exact, finds otherwise, it does the same.
{{template "clock" .}}
local config = ARGV[1]
local seen = redis.call('GET', KEYS[1])
{{- if .Unborn}}
if not seen then return {now, seen, 1} end -- only the caller can make a new bucket
{{- end}}
if seen and string.sub(seen, 1, #config) ~= config then return {now, seen, 1} end

-- The numbers after the mark, the format and the count of bandwidths: rest is -1
-- if nothing follows them.
local rest{{if .Versioned}}, _{{end}}
{{- range .Bandwidths}}{{if .Named}}, _{{end}}, c{{.I}}, rate{{.I}}, den{{.I}}{{if .Aligned}}, phase{{.I}}{{end}}{{end}}
{{- ""}}, since{{range .Bandwidths}}, held{{.I}}, part{{.I}}{{end}} = cmsgpack.unpack_limit(seen or config{{if .Given}} .. ARGV[2]{{end}}, {{.Numbers}}, 3)
if not seen then
	since{{if .Full}}{{range .Bandwidths}}, held{{.I}}, part{{.I}}{{end}}{{end}} = now{{if .Full}}{{range .Bandwidths}}, c{{.I}}, 0{{end}}{{end}}
end
local last{{range .Bandwidths}}, t{{.I}}, r{{.I}}{{end}} = since{{range .Bandwidths}}, held{{.I}}, part{{.I}}{{end}}
{{- if .ClientClock}}
local corrected = since > now + lead
if corrected then last = now + lead end
{{- end}}

-- Settle: what has been earned from last to now.
local elapsed = now - last
{{- range .Bandwidths}}
{{- if .Interval}}
local step{{.I}} = -rate{{.I}}
{{- if .Aligned}}
den{{.I}} = -den{{.I}}
r{{.I}} = (last - phase{{.I}}) % den{{.I}}
{{- end}}
{{- end}}
if elapsed > 0 and t{{.I}} < c{{.I}} then
{{- if .Interval}}
	local lack = c{{.I}} - t{{.I}} + step{{.I}} - 1
	local need = (lack - lack % step{{.I}}) / step{{.I}} * den{{.I}} - r{{.I}}
	if elapsed >= need then
		t{{.I}}, r{{.I}} = c{{.I}}, 0
	else
		local gone = r{{.I}} + elapsed
		r{{.I}} = gone % den{{.I}}
		t{{.I}} = t{{.I}} + (gone - r{{.I}}) / den{{.I}} * step{{.I}}
	end
{{- else}}
	local need, gain = (c{{.I}} - t{{.I}}) * den{{.I}} - r{{.I}}, elapsed * rate{{.I}}
	if gain >= need then
		t{{.I}}, r{{.I}} = c{{.I}}, 0
	else
		gain = r{{.I}} + gain
		r{{.I}} = gain % den{{.I}}
		t{{.I}} = t{{.I}} + (gain - r{{.I}}) / den{{.I}}
	end
{{- end}}
end
{{- end}}
if elapsed > 0 then last = now end

-- Decide. A refusal writes nothing, except what each call would otherwise meet
-- the same way and never gain a token: the birth of a bucket that is not full,
-- and with a client's clock an instant that was too far ahead.
{{- if .Runs}}
local granted = false
for i = {{.Next}} + 1, #ARGV{{if .ClientClock}} - 2{{end}}, 2 do
	local number, n = tonumber(ARGV[i]), tonumber(ARGV[i + 1])
	local there = t1
{{- range .Bandwidths}}{{if gt .I 1}}
	if t{{.I}} < there then there = t{{.I}} end
{{- end}}{{end}}
	local taken = (there - there % n) / n
	if taken > number then taken = number end
	if taken > 0 then
		granted = true
{{- range .Bandwidths}}
		t{{.I}} = t{{.I}} - taken * n
{{- end}}
	end
end
if granted then
{{- else}}
local n = (ARGV[{{.Next}}] or 1) + 0
if {{range $i, $b := .Bandwidths}}{{if $i}} and {{end}}t{{.I}} >= n{{end}} then
{{- range .Bandwidths}}
	t{{.I}} = t{{.I}} - n
{{- end}}
{{- end}}
elseif {{if .ClientClock}}not corrected and ({{end}}seen or {{range $i, $b := .Bandwidths}}{{if $i}} and {{end}}t{{.I}} == c{{.I}}{{end}}{{if .ClientClock}}){{end}} then
	return {now, seen}
end

-- What the write rests on.
if rest ~= -1 or since % 1 ~= 0 or since >= 2^53 - 2^51 or since <= 2^51 - 2^53
{{- range .Bandwidths}} or held{{.I}} % 1 ~= 0 or held{{.I}} >= 2^53 or held{{.I}} < 0 and {{template "owed" .}} >= 2^53
	or part{{.I}} % 1 ~= 0 or part{{.I}} < 0 or part{{.I}} >= {{if .Aligned}}1{{else}}den{{.I}}{{end}} or held{{.I}} >= c{{.I}} and part{{.I}} > 0
{{- if $.Bare}} or t{{.I}} > c{{.I}}{{end}}{{end}} then
	return {now, seen, 1}{{if .Bare}} -- t above c: such a credit is to be remembered{{end}}
end

-- Write, with a time to live of at least the time to full.
local full, wait = 0
{{- range .Bandwidths}}
if t{{.I}} < c{{.I}} then
{{- if .Interval}}
{{- if .Aligned}}
	r{{.I}} = (last - phase{{.I}}) % den{{.I}}
{{- end}}
	local lack = c{{.I}} - t{{.I}} + step{{.I}} - 1
	wait = (lack - lack % step{{.I}}) / step{{.I}} * den{{.I}} - r{{.I}}
{{- else}}
	local need = (c{{.I}} - t{{.I}}) * den{{.I}} - r{{.I}} + rate{{.I}} - 1
	wait = (need - need % rate{{.I}}) / rate{{.I}}
{{- end}}
	if wait > full then full = wait end
end
{{- end}}
if elapsed < 0 and full > 0 then full = full - elapsed end
{{- if and .Bare (not .ClientClock)}}
if full == 0 then return {now, seen, 1} end -- credit is used up: to be deleted
{{- end}}
local ends = {{template "from" .}} + full + {{if .Runs}}ARGV[{{.Next}}]{{else}}(ARGV[{{.Next}} + 1] or 0){{end}} + 999
if ends >= 2^53 then return {now, seen, 1} end
redis.call('SET', KEYS[1], config .. cmsgpack.pack(last{{range .Bandwidths}}, t{{.I}}, {{if .Aligned}}0{{else}}r{{.I}}{{end}}{{end}}), '{{template "expire" .}}', (ends - ends % 1000) / 1000)
return {now, seen, 2}
