package faults_test

import "time"

// fault is something that goes wrong for a while.
type fault struct {
	name          string
	server        []string      // its arguments
	password      string        // that it wants at first
	socketTimeout time.Duration // of the clients; 0: as they are by default
	far           bool          // clients take the link, with which the fault is
	atStart       bool          // before clients are made
	loses         bool          // what the server held is lost
	prepare       func(*site)
	begin, end    func(*site)
}

// slowly is the socket timeout that delayed replies pass.
const slowly = 100 * time.Millisecond

var all = []fault{
	{
		name: "server killed and restarted", loses: true,
		begin: func(s *site) { s.server.Kill() },
		end:   func(s *site) { s.server.Restart() },
	},
	{
		name: "server killed and restarted, all on disk", server: []string{"--appendonly", "yes", "--appendfsync", "always"},
		begin: func(s *site) { s.server.Kill() },
		end:   func(s *site) { s.server.Restart() },
	},
	{
		name:  "server paused (SIGSTOP)",
		begin: func(s *site) { s.server.Pause() },
		end:   func(s *site) { s.server.Resume() },
	},
	{
		name:  "CLIENT PAUSE",
		begin: func(s *site) { s.do("CLIENT", "PAUSE", length.Milliseconds(), "ALL") },
		end:   func(s *site) { s.do("PING") }, // answered when it is over
	},
	{
		name: "connections cut", far: true,
		begin: func(s *site) { s.link.Cut(1, 0.1, 1_000_000) },
		end:   func(s *site) { s.link.Cut(0, 0, 0) },
	},
	{
		name: "connection refused at start", atStart: true,
		begin: func(s *site) { s.server.Kill() },
		end:   func(s *site) { s.server.Restart() },
	},
	{
		name: "replies 300 ms past a read timeout of 100 ms", socketTimeout: slowly, far: true,
		begin: func(s *site) { s.link.Delay(slowly + 300*time.Millisecond) },
		end:   func(s *site) { s.link.Delay(0) },
	},
	{
		name:  "SCRIPT FLUSH",
		begin: func(s *site) { s.do("SCRIPT", "FLUSH") },
	},
	{
		name: "LOADING", server: []string{
			"--enable-debug-command", "yes", "--key-load-delay", "2000", "--loading-process-events-interval-bytes", "1024",
			"--rdbcompression", "no",
		},
		prepare: func(s *site) { s.do("DEBUG", "POPULATE", length.Milliseconds()/2, "filler", 2048) },
		begin:   func(s *site) { s.start("DEBUG", "RELOAD") },
		end:     func(s *site) { s.started.Wait() },
	},
	{
		name:  "READONLY",
		begin: func(s *site) { s.do("REPLICAOF", "127.0.0.1", "1") },
		end:   func(s *site) { s.do("REPLICAOF", "NO", "ONE") },
	},
	{
		name:  "OOM",
		begin: func(s *site) { s.do("CONFIG", "SET", "maxmemory", "1") },
		end:   func(s *site) { s.do("CONFIG", "SET", "maxmemory", "0") },
	},
	{
		name:    "BUSY",
		prepare: func(s *site) { s.do("CONFIG", "SET", "busy-reply-threshold", "1") },
		begin:   func(s *site) { s.start("EVAL", "while true do end", "0") },
		end: func(s *site) {
			s.do("SCRIPT", "KILL")
			s.started.Wait()
		},
	},
	{
		name: "wrong password", server: []string{"--requirepass", "right"}, password: "right",
		begin: func(s *site) {
			s.do("CONFIG", "SET", "requirepass", "changed")
			s.do("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
		},
		end: func(s *site) { s.do("CONFIG", "SET", "requirepass", "right") },
	},
}
