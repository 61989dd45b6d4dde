package natstest

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	"github.com/stenohq/steno/internal/natsnode"
	"github.com/stenohq/steno/internal/natsnode/topology"
)

// The environment of a test binary that is to be a server.
const (
	envStore      = "STENO_NATSTEST_STORE"
	envListen     = "STENO_NATSTEST_LISTEN"
	envDurability = "STENO_NATSTEST_DURABILITY"
)

// Main is the TestMain of a package that uses StartProcess. It checks for
// leaked goroutines as well.
func Main(m *testing.M) {
	if os.Getenv(envStore) != "" {
		os.Exit(serve(os.Stdin, os.Stdout, os.Stderr))
	}
	goleak.VerifyTestMain(m)
}

// serve is the server process: it says where it listens and runs until its
// input ends, which it does with the test process.
func serve(in io.Reader, out, errs io.Writer) int {
	durability, err := strconv.Atoi(os.Getenv(envDurability))
	if err != nil {
		fmt.Fprintln(errs, err)
		return 2
	}
	n, err := natsnode.Start(natsnode.Config{
		StoreDir: os.Getenv(envStore), Listen: os.Getenv(envListen), Durability: natsnode.Durability(durability),
	})
	if err != nil {
		fmt.Fprintln(errs, err)
		return 1
	}
	fmt.Fprintln(out, n.ClientURL())
	_, err = io.Copy(io.Discard, in)
	if err != nil || n.Stop() != nil {
		return 1
	}
	return 0
}

// Process is a server in a process of its own, which a test can kill, stop and
// start again on the same port and store.
type Process struct {
	t   testing.TB
	cfg natsnode.Config

	cmd   *exec.Cmd
	input io.Closer

	url string
	nc  *nats.Conn
	js  jetstream.JetStream
	top topology.Topology
}

// StartProcess starts a server process with the topology made, and ends it
// when the test ends. The package's TestMain must be Main.
func StartProcess(t testing.TB, opts ...Option) *Process {
	t.Helper()
	s := settings{
		cfg:  natsnode.Config{StoreDir: t.TempDir(), Listen: "127.0.0.1:0", Durability: natsnode.Process},
		plan: topology.Embedded(),
	}
	for _, o := range opts {
		o(&s)
	}
	p := &Process{t: t, cfg: s.cfg}
	p.Start()
	t.Cleanup(p.Kill)
	p.cfg.Listen = strings.TrimPrefix(p.url, "nats://")
	p.nc = p.Connect()
	var err error
	p.js, err = jetstream.New(p.nc)
	check(t, err)
	p.top, err = topology.Ensure(t.Context(), p.js, s.plan)
	check(t, err)
	return p
}

// Conn is a connection shared by the test. It is closed at its end.
func (p *Process) Conn() *nats.Conn { return p.nc }

// JS is the JetStream client on Conn.
func (p *Process) JS() jetstream.JetStream { return p.js }

// Topology is what Ensure answered at the start.
func (p *Process) Topology() topology.Topology { return p.top }

// URL is the server's address; it stays the same.
func (p *Process) URL() string { return p.url }

// Connect opens a connection of its own, closed when the test ends.
func (p *Process) Connect(opts ...nats.Option) *nats.Conn {
	p.t.Helper()
	all := append([]nats.Option{nats.ReconnectWait(20 * time.Millisecond)}, reconnecting()...)
	all = append(all, opts...)
	nc, err := nats.Connect(p.url, all...)
	check(p.t, err)
	p.t.Cleanup(nc.Close)
	return nc
}

// Start starts the server after Kill, and waits until it listens and the
// shared connection is back.
func (p *Process) Start() {
	p.t.Helper()
	exe, err := os.Executable()
	check(p.t, err)
	cmd := exec.CommandContext(p.t.Context(), exe)
	cmd.Env = append(os.Environ(), envStore+"="+p.cfg.StoreDir, envListen+"="+p.cfg.Listen,
		envDurability+"="+strconv.Itoa(int(p.cfg.Durability)))
	cmd.Stderr = os.Stderr
	input, err := cmd.StdinPipe()
	check(p.t, err)
	out, err := cmd.StdoutPipe()
	check(p.t, err)
	check(p.t, cmd.Start())
	p.cmd, p.input = cmd, input
	line, err := bufio.NewReader(out).ReadString('\n')
	check(p.t, err)
	p.url = strings.TrimSpace(line)
	if p.nc != nil {
		awaitConn(p.t, p.nc)
	}
}

// Kill ends the server with SIGKILL and waits until it is gone. It may have
// been killed already.
func (p *Process) Kill() {
	if p.cmd == nil {
		return
	}
	_ = p.cmd.Process.Kill() // fails only when it has ended
	_ = p.cmd.Wait()         // says that it was killed
	_ = p.input.Close()
	p.cmd = nil
}

// Pause stops the server's process as it stands, with its sockets open.
func (p *Process) Pause() { p.signal(syscall.SIGSTOP) }

// Resume lets a paused server go on.
func (p *Process) Resume() { p.signal(syscall.SIGCONT) }

func (p *Process) signal(s syscall.Signal) {
	p.t.Helper()
	check(p.t, p.cmd.Process.Signal(s))
}
