package recorder_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/stenohq/steno/internal/archive/wirelog"
	"github.com/stenohq/steno/internal/eventlog/jslog"
	"github.com/stenohq/steno/internal/natstest"
	"github.com/stenohq/steno/pkg/events"
)

// child is a recorder in a process of its own.
type child struct {
	cmd   *exec.Cmd
	input io.Closer
}

func startChild(t *testing.T, url, dir string) *child {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Env = append(os.Environ(), envURL+"="+url, envDir+"="+dir)
	cmd.Stderr = os.Stderr
	input, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return &child{cmd: cmd, input: input}
}

func (c *child) kill() {
	_ = c.cmd.Process.Kill() // fails only when it has ended
	_ = c.cmd.Wait()         // says that it was killed
	_ = c.input.Close()
}

// stop ends the recorder cleanly.
func (c *child) stop(t *testing.T) {
	t.Helper()
	_ = c.input.Close() // the end of its input is what it waits for
	if err := c.cmd.Wait(); err != nil {
		t.Errorf("recorder: %v", err)
	}
}

// Recorders are killed with SIGKILL, and the server once, while events come
// in; the archive then holds every stored message once, in order.
func TestKilledOnRealNode(t *testing.T) {
	if testing.Short() {
		t.Skip("starts and kills processes for several seconds")
	}
	t.Parallel()
	node := natstest.StartProcess(t)
	dir := t.TempDir()
	ctx, stopPublishing := context.WithCancel(t.Context())
	var publishing sync.WaitGroup
	for p := range 3 {
		publishing.Go(func() { publish(ctx, node.JS(), p) })
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	for round := range 5 {
		c := startChild(t, node.URL(), dir)
		time.Sleep(time.Duration(150+rnd.IntN(700)) * time.Millisecond)
		if round == 2 {
			node.Kill()
			node.Start()
			time.Sleep(300 * time.Millisecond)
		}
		c.kill()
	}
	stopPublishing()
	publishing.Wait()
	c := startChild(t, node.URL(), dir)
	defer c.kill()
	log, err := jslog.New(node.JS(), jslog.Config{Slots: node.Topology().Slots, Streams: node.Topology().Streams})
	if err != nil {
		t.Fatal(err)
	}
	var total int
	waitFor(t, 60*time.Second, func() error {
		total, err = compareArchive(t.Context(), log, dir)
		return err
	})
	c.stop(t)
	if _, err := compareArchive(t.Context(), log, dir); err != nil {
		t.Error(err)
	}
	t.Logf("%d messages", total)
	if total < 100 {
		t.Errorf("only %d messages: the test proves little", total)
	}
}

func publish(ctx context.Context, js jetstream.JetStream, p int) {
	for i := 0; ctx.Err() == nil; i++ {
		s := events.SessionID(fmt.Sprintf("s.%d", i%7))
		data := fmt.Appendf(nil, `{"event_type":"assistant.delta","payload":{"delta":"%d of %d"}}`, i, p)
		// An error leaves open whether it is stored; the stream is what counts.
		attempt, cancel := context.WithTimeout(ctx, time.Second)
		_, _ = js.Publish(attempt, events.PublishSubject(s, events.AgentID(fmt.Sprintf("a-%d", p))), data)
		cancel()
	}
}

func waitFor(t *testing.T, limit time.Duration, ok func() error) {
	t.Helper()
	deadline := time.Now().Add(limit)
	for {
		err := ok()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("after %v: %v", limit, err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// compareArchive says how the archive differs from the stream, and counts.
func compareArchive(ctx context.Context, log *jslog.Log, dir string) (int, error) {
	r := wirelog.NewReader(dir)
	total := 0
	for i := range 7 {
		s := events.SessionID(fmt.Sprintf("s.%d", i))
		agents, err := log.Agents(ctx, s)
		if err != nil {
			return 0, err
		}
		for _, a := range agents {
			records, err := log.Range(ctx, s, a, 0, 1<<20)
			if err != nil {
				return 0, err
			}
			n := 0
			for line, err := range r.Read(ctx, s, a, 0) {
				if err != nil {
					return 0, err
				}
				if n >= len(records) || line.Seq != uint64(n)+1 || line.StreamSeq != records[n].StreamSeq || string(line.Data) != string(records[n].Data) {
					return 0, fmt.Errorf("%s/%s: line %d is not record %d of %d", s, a, line.Seq, n+1, len(records))
				}
				n++
			}
			if n != len(records) {
				return 0, fmt.Errorf("%s/%s: %d lines of %d records", s, a, n, len(records))
			}
			for f, err := range r.Verify(ctx, s, a) {
				return 0, fmt.Errorf("%v %w", f, err)
			}
			total += n
		}
	}
	return total, nil
}

// A second recorder on another directory takes over and goes on with numbers
// and chain; the two directories together are the log.
func TestTakesOverOnRealNode(t *testing.T) {
	t.Parallel()
	node := natstest.StartNode(t, natstest.NoListen())
	run := func(dir string) (stop func()) {
		svc, err := newService(node.Conn(), node.JS(), node.Topology(), dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- svc.Run(ctx) }()
		waitFor(t, 30*time.Second, svc.Ready)
		return func() {
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	}
	put := func(from, to int) {
		for i := from; i < to; i++ {
			data := fmt.Appendf(nil, `{"event_type":"x","payload":{"n":%d}}`, i)
			if _, err := node.JS().Publish(t.Context(), events.PublishSubject("s", "main"), data); err != nil {
				t.Fatal(err)
			}
		}
	}
	lines := func(dir string, after uint64) (first, last uint64) {
		for line, err := range wirelog.NewReader(dir).Read(t.Context(), "s", "main", after) {
			if err != nil {
				return 0, 0
			}
			if first == 0 {
				first = line.Seq
			}
			last = line.Seq
		}
		return first, last
	}
	expect := func(dir string, first, last uint64) {
		waitFor(t, 20*time.Second, func() error {
			if f, l := lines(dir, first-1); f != first || l != last {
				return fmt.Errorf("%s holds %d to %d, want %d to %d", filepath.Base(dir), f, l, first, last)
			}
			return nil
		})
	}
	one, two := t.TempDir(), t.TempDir()
	stop := run(one)
	put(0, 10)
	expect(one, 1, 10)
	stop()
	put(10, 20)
	stop = run(two)
	expect(two, 11, 20)
	stop()
	put(20, 25)
	stop = run(one) // back again: a new part behind what the other one wrote
	expect(one, 21, 25)
	stop()
	var found []wirelog.Finding
	for f, err := range wirelog.NewReader(one).Verify(t.Context(), "s", "main") {
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, f)
	}
	// What the other directory holds is missing here, and nothing else is wrong.
	if len(found) != 1 || found[0].Kind != wirelog.FindGap || found[0].Seq != 21 {
		t.Errorf("found %v", found)
	}
}
