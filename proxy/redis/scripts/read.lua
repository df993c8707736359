#!lua
-- Reads a key and the clock. Whatever follows from them, Go works out.
{{template "clock" .}}
return {now, redis.call('GET', KEYS[1])}
