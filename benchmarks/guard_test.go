package main

import (
	"slices"
	"testing"

	"github.com/sluice-go/sluice/internal/redistest"
)

// What a take costs at most, granted or refused. Whoever makes it cheaper lowers the number here, and nobody raises it
// unnoticed. Nothing here depends on time.
var guards = []struct {
	contender   string
	allocations float64
	commands    int // that the server is sent
}{
	{localOne, 0, 0},
	{localThree, 0, 0},
	{memorySluice, 0, 0},
	{sluiceGoRedis, 26, 1},
	{sluiceThree, 26, 1},
	{sluiceRueidis, 18, 1}, // both with the race detector, two or one less without
}

func TestGuard(t *testing.T) {
	server := &server{addr: redistest.Start(t).Addr()}
	all := slices.Concat(keyless(), memoryContenders, redisContenders)
	for _, guard := range guards {
		i := slices.IndexFunc(all, func(c contender) bool { return c.name == guard.contender })
		for outcome, l := range map[string]limit{"granted": lasting, "refused": spent} {
			t.Run(guard.contender+", "+outcome, func(t *testing.T) {
				guardAllocations(t, server, all[i], l, guard.allocations)
				guardCommands(t, server, all[i], l, 1, guard.commands)
				guardCommands(t, server, all[i], l, 64, guard.commands)
			})
		}
	}
}

func guardAllocations(t *testing.T, s *server, c contender, l limit, most float64) {
	take, done, err := c.open(s.addr, l)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	key := t.Name() + ", allocations"
	once := func() {
		if _, err := take(t.Context(), key); err != nil {
			t.Error(err)
		}
	}
	for range 100 { // every connection is made
		once()
	}
	if got := testing.AllocsPerRun(500, once); got > most {
		t.Errorf("%v allocations a take, want at most %v", got, most)
	}
}

// guardCommands has goroutines take from one key. Alone each take is one command; together they share some.
func guardCommands(t *testing.T, s *server, c contender, l limit, goroutines, most int) {
	key := t.Name() + ", commands"
	takes := slices.Repeat([]string{key}, 5*goroutines)
	takeAll := func(take taker) error {
		return fill(take, takes, goroutines)
	}
	sent, err := s.sent(c, l, takeAll, takeAll) // the script is known the second time
	if err != nil {
		t.Fatal(err)
	}
	if len(sent) > most*len(takes) || goroutines == 1 && len(sent) != most*len(takes) {
		t.Errorf("%d goroutines: %d commands for %d takes, want %d each", goroutines, len(sent), len(takes), most)
	}
	for _, command := range sent {
		if command[0] != "evalsha" && command[0] != "EVALSHA" {
			t.Errorf("sent %q", command)
		}
	}
}
