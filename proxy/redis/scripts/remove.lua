#!lua
-- Forgets a bucket. What is not surely one is left to the caller.
--
-- ARGV: the first bytes of every bucket
{{template "clock" .}}
local seen = redis.call('GET', KEYS[1])
if seen and string.sub(seen, 1, #ARGV[1]) ~= ARGV[1] then
	return {now, seen, 1}
end
if not seen then return {now, seen} end
redis.call('DEL', KEYS[1])
return {now, seen, 2}
