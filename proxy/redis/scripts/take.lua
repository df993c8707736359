{{- /* The greatest number reached for a bandwidth in debt, rounded up. */ -}}
{{define "owed" -}}
{{if .Interval}}((c{{.I}} - t{{.I}}) / -rate{{.I}} + 2) * {{if .Aligned}}-{{end}}den{{.I}} + c{{.I}} - t{{.I}} - rate{{.I}}
{{- else}}(c{{.I}} - t{{.I}} + 1) * den{{.I}} + 2 * rate{{.I}}{{end}}
{{- end -}}
#!lua
-- Takes tokens, all or none: the script of nearly every call, so it is
-- generated for each shape of configuration, with local variables in place of
-- loops and tables.
--
-- ARGV: the configuration's bytes, the rest of a new bucket's bytes ('' if only
-- the caller can make one), what a key lives longer than its time-to-full, how
-- much longer a state that says more than an absent key (0 if this one does not),
-- both in microseconds,{{if .Runs}} and for each run of takes with one cost their number and the
-- cost{{else}} and the cost{{end}}
--
-- The reply is the instant and the bytes seen; Go repeats the decision from
-- them and explains it. A third value hands the decision to compare-and-swap:
-- another configuration, damage, or numbers that a double might round. Go has
-- checked that what follows from the configuration alone stays below 2^53, and a
-- debt is checked here; comparisons with need are safe because rounding is
-- monotone.
{{template "clock" .}}
local config = ARGV[1]
local seen = redis.call('GET', KEYS[1])
local bytes = seen
if not seen then
	if ARGV[2] == '' then return {now, seen, 1} end
	bytes = config .. ARGV[2]
elseif string.sub(seen, 1, #config) ~= config then
	return {now, seen, 1}
end

local _, _{{if .Versioned}}, _{{end}}
{{- range .Bandwidths}}{{if .Named}}, _{{end}}, c{{.I}}, rate{{.I}}, den{{.I}}{{if .Aligned}}, phase{{.I}}{{end}}{{end}}
{{- ""}}, last{{range .Bandwidths}}, t{{.I}}, r{{.I}}{{end}} = cmsgpack.unpack(string.sub(bytes, 2))
if config .. cmsgpack.pack(last{{range .Bandwidths}}, t{{.I}}, r{{.I}}{{end}}) ~= bytes or last >= 2^53 - 2^51 or last <= 2^51 - 2^53
{{- range .Bandwidths}} or r{{.I}} < 0 or r{{.I}} >= {{if .Aligned}}1{{else}}den{{.I}}{{end}} or t{{.I}} >= c{{.I}} and r{{.I}} > 0 or t{{.I}} >= 2^53 or t{{.I}} < 0 and {{template "owed" .}} >= 2^53{{end}} then
	return {now, seen, 1}
end
if not seen then last = now end
{{- if .ClientClock}}
local corrected = last > now + lead
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
for i = 5, #ARGV{{if .ClientClock}} - 2{{end}}, 2 do
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
local n = tonumber(ARGV[5])
if {{range $i, $b := .Bandwidths}}{{if $i}} and {{end}}t{{.I}} >= n{{end}} then
{{- range .Bandwidths}}
	t{{.I}} = t{{.I}} - n
{{- end}}
{{- end}}
elseif {{if .ClientClock}}not corrected and ({{end}}seen or {{range $i, $b := .Bandwidths}}{{if $i}} and {{end}}t{{.I}} == c{{.I}}{{end}}{{if .ClientClock}}){{end}} then
	return {now, seen}
end
{{- range .Bandwidths}}
if t{{.I}} > c{{.I}} and ARGV[4] == '0' then return {now, seen, 1} end -- credit is to be remembered
{{- end}}

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
{{- if not .ClientClock}}
if full == 0 and ARGV[4] == '0' then return {now, seen, 1} end -- credit is used up: to be deleted
{{- end}}
local ends = {{template "from" .}} + full + ARGV[3] + ARGV[4] + 999
if ends >= 2^53 then return {now, seen, 1} end
redis.call('SET', KEYS[1], config .. cmsgpack.pack(last{{range .Bandwidths}}, t{{.I}}, {{if .Aligned}}0{{else}}r{{.I}}{{end}}{{end}}), '{{template "expire" .}}', string.format('%.0f', (ends - ends % 1000) / 1000))
return {now, seen}
