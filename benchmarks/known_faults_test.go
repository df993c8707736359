package main

var proofs = []proof{
	{
		"what is left after the first take at ten a second",
		"A hundred new keys of capacity 10, one take each. The answer tells what remains.",
		[]string{"answers of 9"},
		[]bound{exactly(100)},
		remaining,
	},
	{
		"bursts of twenty every 1.05 s at ten a second",
		"Capacity 20. Four bursts on one key; too many are those beyond 20 and ten for each second from the first to the last.",
		[]string{"too many"},
		[]bound{exactly(0)},
		bursts,
	},
	{
		"a client whose clock is five seconds behind",
		"Capacity 10, ten a second. First a client with the right clock takes all, and 1.1 s later the other one tries ten takes. Then, on\n" +
			"another key, the one that is behind takes all and the other one tries ten at once: too many are those that have not come back meanwhile.",
		[]string{"granted of 10 that have come back", "too many"},
		[]bound{exactly(10), exactly(0)},
		behind,
	},
	{
		"a period below a second",
		"Capacity 5, five in 999 ms. Thirty takes as fast as possible; too many are those beyond 5 and what has come back meanwhile.",
		[]string{"too many"},
		[]bound{exactly(0)},
		brief,
	},
	{
		"a reply that comes late",
		"go-redis waits 100 ms for a reply that takes 400, with eight connections in its pool and its own settings for retries. One take, of\n" +
			"which the caller gets an error: how many tokens are gone?",
		[]string{"tokens gone"},
		[]bound{atMostN(1)},
		late,
	},
	{
		"a cost above the capacity",
		"Capacity 10 and full. A take of 11 cannot ever be granted.",
		[]string{"granted", "answers with a time to come back", "tokens left"},
		[]bound{exactly(0), exactly(0), exactly(10)},
		impossible,
	},
	{
		"a refused cost",
		"Capacity 10, seven taken. A take of 5 is refused; then three takes of one.",
		[]string{"granted of 3"},
		[]bound{exactly(3)},
		refusedCost,
	},
	{
		"taking what there is, part-tokens left behind",
		"Capacity 100, ten a second, drained. Every 150 ms all that is there is taken, twelve times; lost are those that came back and were not got.",
		[]string{"lost"},
		[]bound{exactly(0)},
		upTo,
	},
	{
		"two hundred at once",
		"Capacity 1,000 and nothing comes back. Two hundred goroutines take one each from one key on Redis.",
		[]string{"granted", "errors"},
		[]bound{exactly(200), exactly(0)},
		atOnce,
	},
}
