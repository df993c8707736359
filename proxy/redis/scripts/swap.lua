#!lua
-- Replaces what a caller has seen by what it made of that, unless the key has
-- changed since; then the third value is set and the caller starts again from
-- what is here.
--
-- ARGV: '1' if the key was there, its bytes, the next bytes ('' deletes), when
-- they expire in milliseconds
{{template "clock" .}}
local seen = redis.call('GET', KEYS[1])
if seen ~= (ARGV[1] == '1' and ARGV[2]) then
	return {now, seen, 1}
end
if ARGV[3] == '' then
	redis.call('DEL', KEYS[1])
else
	redis.call('SET', KEYS[1], ARGV[3], '{{template "expire" .}}', ARGV[4])
end
return {now, seen}
