-- The token bucket that the Redis documentation describes among its rate limiters: a hash with the tokens and the
-- time of the last refill. The client brings the time, and the key has no time to live.
-- KEYS: the bucket. ARGV: capacity, tokens a period, period and now in seconds.
local capacity, rate, period, now = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local stored = redis.call('HMGET', KEYS[1], 'tokens', 'last_refill')
local tokens = tonumber(stored[1]) or capacity
local last = tonumber(stored[2]) or now

local periods = math.floor((now - last) / period)
if periods > 0 then
  tokens = math.min(capacity, tokens + periods * rate)
  last = last + periods * period
end

local granted = 0
if tokens >= 1 then
  tokens = tokens - 1
  granted = 1
end
redis.call('HSET', KEYS[1], 'tokens', tokens, 'last_refill', last)
return {granted, tokens}
