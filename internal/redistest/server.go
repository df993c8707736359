package redistest

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// Server is a Redis that one test owns and may stop. Its methods fail that test where they cannot do their work,
// and are called from one goroutine at a time.
type Server struct {
	t    testing.TB // nil for the shared server, on which no exported method but Addr and URL is called
	path string     // the program
	args []string
	dir  string
	addr string

	process *exec.Cmd // nil while the server is down
	leash   *exec.Cmd
}

// Start starts a server that ends with the test. The arguments are the program's own ("--appendonly", "yes") and
// win over the package's, except that address, directory and log stay as the package needs them.
func Start(t testing.TB, args ...string) *Server {
	t.Helper()
	return start(t, "", args...)
}

func start(t testing.TB, conf string, args ...string) *Server {
	t.Helper()
	s, err := newServer(conf, args)
	check(t, err)
	s.t = t
	t.Cleanup(s.remove)
	return s
}

// Addr returns the server's address as host:port. It stays the same for the server's life.
func (s *Server) Addr() string { return s.addr }

// URL returns the server's address as a redis:// URL.
func (s *Server) URL() string { return "redis://" + s.addr }

// Kill ends the server as a crash would: at once, its connections broken, new ones refused. Killing it again does nothing.
func (s *Server) Kill() { s.kill() }

// Restart starts the server again on the same address and directory, killing it first if it runs. It returns when
// the server accepts connections.
func (s *Server) Restart() {
	s.t.Helper()
	s.kill()
	err := s.start()
	// A client's outgoing connection may sit on the port for a moment.
	for i := 0; i < 50 && errors.Is(err, errPortTaken); i++ {
		time.Sleep(100 * time.Millisecond)
		err = s.start()
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// Pause stops the server without ending it: connections stay open and new ones are made, but nothing is answered
// until [Server.Resume].
func (s *Server) Pause() {
	s.t.Helper()
	s.signal(syscall.SIGSTOP)
}

// Resume lets a paused server go on. It then answers what it was sent meanwhile.
func (s *Server) Resume() {
	s.t.Helper()
	s.signal(syscall.SIGCONT)
}

func (s *Server) signal(sig syscall.Signal) {
	s.t.Helper()
	if s.process == nil || s.ended() || s.process.Process.Signal(sig) != nil {
		s.t.Fatalf("redistest: the server is down: Restart it first. Its log:\n%s", s.log())
	}
}

var errPortTaken = errors.New("redistest: the port is taken")

// newServer starts a server with a configuration file, empty for all but Sentinel, which keeps its state in it.
func newServer(conf string, args []string) (*Server, error) {
	path, err := find()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "redistest-")
	if err != nil {
		return nil, err
	}
	s := &Server{path: path, args: args, dir: dir}
	if err := os.WriteFile(s.confFile(), []byte(conf), 0o600); err != nil {
		s.remove()
		return nil, err
	}
	err = errPortTaken
	for i := 0; i < 5 && errors.Is(err, errPortTaken); i++ { // another process may be quicker to use a free port
		if s.addr, err = freeAddr(); err == nil {
			err = s.start()
		}
	}
	if err != nil {
		s.remove()
		return nil, err
	}
	return s, nil
}

// freeAddr returns an address with a free port that leaves room for the one of a cluster's bus, which is 10000 above.
func freeAddr() (string, error) {
	for {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return "", err
		}
		if err := l.Close(); err != nil || l.Addr().(*net.TCPAddr).Port+10000 < 1<<16 {
			return l.Addr().String(), err
		}
	}
}

func (s *Server) start() error {
	host, port, err := net.SplitHostPort(s.addr)
	if err != nil {
		return err
	}
	log, err := os.Create(s.logFile())
	if err != nil {
		return err
	}
	defer log.Close()

	s.process = exec.Command(s.path, slices.Concat(
		[]string{s.confFile(), "--save", "", "--appendonly", "no"},
		s.args,
		[]string{"--bind", host, "--port", port, "--dir", s.dir, "--daemonize", "no", "--logfile", "", "--loglevel", "notice"},
	)...)
	s.process.Stdout, s.process.Stderr = log, log
	if err := s.process.Start(); err != nil {
		s.process = nil
		return fmt.Errorf("redistest: %w", err)
	}
	if err := s.tie(); err != nil {
		s.kill()
		return err
	}
	return s.awaitStart()
}

// tie makes the server end with this process, however that ends: the kernel then closes the pipe that the shell
// reads. A signal from the terminal goes to the shell too, and must not end it before it has done its work.
func (s *Server) tie() error {
	const script = `trap "" HUP INT TERM; read _; kill -KILL "$0"; rm -rf "$1"`
	s.leash = exec.Command("sh", "-c", script, strconv.Itoa(s.process.Process.Pid), s.dir)
	if _, err := s.leash.StdinPipe(); err != nil {
		return err
	}
	return s.leash.Start()
}

// awaitStart returns when the server says in its own log that it accepts connections. An answer on the port could come from
// another server, and would have to know the password or certificate that a test asked for.
func (s *Server) awaitStart() error {
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		ended, late := s.ended(), time.Now().After(deadline)
		log := s.log()
		switch {
		case bytes.Contains(log, []byte("Ready to accept connections")), bytes.Contains(log, []byte("Sentinel ID is")):
			return nil
		case bytes.Contains(log, []byte("Address already in use")):
			s.kill()
			return errPortTaken
		case ended, late:
			s.kill()
			return fmt.Errorf("redistest: %s does not start on %s; its log:\n%s", s.path, s.addr, log)
		}
	}
}

// ended reports whether the server has ended, without a goroutine that waits for it.
func (s *Server) ended() bool {
	pid, _ := syscall.Wait4(s.process.Process.Pid, nil, syscall.WNOHANG, nil)
	return pid != 0 // its pid: it ended just now; -1: earlier
}

func (s *Server) kill() {
	if s.process == nil {
		return
	}
	// The errors say that a process has ended before: that is what is wanted.
	for _, cmd := range []*exec.Cmd{s.process, s.leash} {
		if cmd != nil && cmd.Process != nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	}
	s.process, s.leash = nil, nil
}

func (s *Server) remove() {
	s.kill()
	_ = os.RemoveAll(s.dir) // only a temporary directory
}

func (s *Server) logFile() string  { return filepath.Join(s.dir, "redis.log") }
func (s *Server) confFile() string { return filepath.Join(s.dir, "redis.conf") }

func (s *Server) log() []byte {
	log, _ := os.ReadFile(s.logFile()) // what cannot be read cannot be shown
	return log
}
