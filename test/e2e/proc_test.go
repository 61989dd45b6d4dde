package e2e

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience is how long anything may take before a test gives up.
const patience = 30 * time.Second

// proc is a running program.
type proc struct {
	t    *testing.T
	name string
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended

	mu     sync.Mutex // guards what follows
	stdout []line
	more   chan struct{} // closed and replaced with each line
	stderr bytes.Buffer
}

// line is a piece of output and when it came.
type line struct {
	text string
	at   time.Time
}

// start runs a program until the test ends.
func start(t *testing.T, name string, args ...string) *proc {
	t.Helper()
	p := &proc{t: t, name: name, cmd: exec.Command(filepath.Join(bin, name), args...), done: make(chan struct{}), more: make(chan struct{})}
	p.cmd.Env = cleanEnv()
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.cmd.Stderr = lockedWriter{p}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.done)
		p.read(out)
		_ = p.cmd.Wait() // killed, most of the time
	}()
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("%s %s\nstderr:\n%s", name, strings.Join(args, " "), tail(p.errors(), 4000))
		}
	})
	return p
}

// cleanEnv keeps settings of whoever runs the tests out of the programs.
func cleanEnv() []string {
	var env []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "STENO_") {
			env = append(env, v)
		}
	}
	return append(env, "NO_COLOR=1")
}

func tail(s string, n int) string {
	if len(s) > n {
		return "…" + s[len(s)-n:]
	}
	return s
}

// read takes output as it comes: a line may be shown before it ends.
func (p *proc) read(out io.Reader) {
	r := bufio.NewReader(out)
	buf := make([]byte, 64<<10)
	for {
		n, err := r.Read(buf)
		if n > 0 {
			p.mu.Lock()
			p.stdout = append(p.stdout, line{string(buf[:n]), time.Now()})
			close(p.more)
			p.more = make(chan struct{})
			p.mu.Unlock()
		}
		if err != nil {
			return
		}
	}
}

type lockedWriter struct{ p *proc }

func (w lockedWriter) Write(b []byte) (int, error) {
	w.p.mu.Lock()
	defer w.p.mu.Unlock()
	return w.p.stderr.Write(b)
}

func (p *proc) errors() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stderr.String()
}

// output is all of stdout so far.
func (p *proc) output() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var b strings.Builder
	for _, l := range p.stdout {
		b.WriteString(l.text)
	}
	return b.String()
}

// shows waits until stdout holds a text and tells when it did.
func (p *proc) shows(text string) time.Time {
	p.t.Helper()
	deadline := time.After(patience)
	for {
		p.mu.Lock()
		more := p.more
		var b strings.Builder
		for _, l := range p.stdout {
			b.WriteString(l.text)
			if strings.Contains(b.String(), text) {
				p.mu.Unlock()
				return l.at
			}
		}
		p.mu.Unlock()
		select {
		case <-more:
		case <-p.done:
			p.t.Fatalf("%s ended without showing %q:\n%s\n%s", p.name, text, tail(p.output(), 2000), tail(p.errors(), 2000))
		case <-deadline:
			p.t.Fatalf("%s does not show %q:\n%s\n%s", p.name, text, tail(p.output(), 2000), tail(p.errors(), 2000))
		}
	}
}

// kill ends the program as a crash does.
func (p *proc) kill() {
	_ = p.cmd.Process.Kill() // may have ended
	<-p.done
}

// stop ends the program in order and returns its exit code.
func (p *proc) stop() int {
	p.t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		p.t.Fatal(err)
	}
	select {
	case <-p.done:
	case <-time.After(patience):
		p.t.Fatalf("%s does not stop:\n%s", p.name, tail(p.errors(), 2000))
	}
	return p.cmd.ProcessState.ExitCode()
}

// call runs a program to its end.
func call(t *testing.T, stdin string, name string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(bin, name), args...)
	cmd.Env = cleanEnv()
	cmd.Stdin = strings.NewReader(stdin)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		code = exit.ExitCode()
	case err != nil:
		t.Fatal(err)
	}
	return code, out.String(), errs.String()
}

// freeAddress is an address that nobody listens on now, for programs that are
// to come back on the same one.
func freeAddress(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().String()
}
