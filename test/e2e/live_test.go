package e2e

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stenohq/steno/pkg/agent"
	"github.com/stenohq/steno/pkg/events"
)

// TestTailAcrossCrashes: while a file grows, what is appended comes on the
// screen, whatever process is killed and comes back, and nothing is missing or
// there twice.
func TestTailAcrossCrashes(t *testing.T) {
	t.Run("one process", func(t *testing.T) {
		s := startUp(t, "recorder,projector,gateway")
		crash(t, s, []killable{{"steno up", func() { s.up.kill(); s.restart() }}, {"steno up again", func() { s.up.kill(); s.restart() }}})
	})
	t.Run("a process for each role", func(t *testing.T) {
		s := startUp(t, "none")
		gateway := s.role("gateway", "--listen", s.gateway)
		projector := s.role("projector", "--name", "p")
		recorder := s.role("recorder", "--data", s.data)
		crash(t, s, []killable{
			{"gateway", gateway.again},
			{"projector", projector.again},
			{"recorder", recorder.again},
			{"NATS", func() { s.up.kill(); s.restart() }},
			{"gateway again", gateway.again},
		})
	})
}

// killable is something that can be killed and comes back.
type killable struct {
	name  string
	again func()
}

// role is a program of one role.
type role struct {
	s    *system
	name string
	args []string
	p    *proc
}

func (s *system) role(name string, args ...string) *role {
	s.t.Helper()
	r := &role{s: s, name: name, args: append([]string{"--nats-url", s.natsURL()}, args...)}
	r.start()
	return r
}

func (r *role) start() {
	r.s.t.Helper()
	r.p = start(r.s.t, r.name, r.args...)
	r.p.shows("ready " + r.name)
}

func (r *role) again() {
	r.s.t.Helper()
	r.p.kill()
	r.start()
}

// TestDeltasAcrossCrashes: a runtime streams text while gateway and NATS are
// killed; every piece of it comes on the screen once and in order.
func TestDeltasAcrossCrashes(t *testing.T) {
	s := startUp(t, "recorder,projector")
	gateway := s.role("gateway", "--listen", s.gateway)
	screen := start(t, "steno", "tail", "--gateway", s.gatewayURL(), "--since-seq", "0", "streams")
	raw := start(t, "steno", "tail", "--gateway", s.gatewayURL(), "--since-seq", "0", "--json", "streams")
	pub, err := agent.Connect(t.Context(), s.natsURL(), agent.Session("streams"), agent.Logger(slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	emit := func(p events.Payload) {
		t.Helper()
		if err := pub.Emit(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	prompt := "go"
	emit(events.TurnStarted{Prompt: &prompt})
	var want strings.Builder
	for i := range 1500 {
		word := fmt.Sprintf("w%04d ", i)
		want.WriteString(word)
		emit(events.AssistantDelta{Delta: word})
		switch i {
		case 300, 1200:
			gateway.again()
		case 700:
			s.up.kill()
			s.restart()
		}
		time.Sleep(200 * time.Microsecond)
	}
	emit(events.TurnEnded{Reason: "completed"})
	if err := pub.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	screen.shows("■ t0 completed")
	if !strings.Contains(screen.output(), "  "+strings.TrimSpace(want.String())) {
		t.Errorf("the text on the screen differs:\n%s", screen.output())
	}
	end := fmt.Sprintf(`"seq":%d,`, len(s.messages("streams", "main")))
	raw.shows(end)
	last := uint64(0)
	for text := range strings.Lines(raw.output()) {
		var b struct {
			Type    string
			Seq     uint64
			PrevSeq *uint64 `json:"prev_seq"`
		}
		if err := json.Unmarshal([]byte(text), &b); err != nil {
			t.Fatalf("%v in %.200s", err, text)
		}
		if b.Type != "transcript.ops" || b.Seq <= last || b.PrevSeq == nil || *b.PrevSeq > last {
			t.Fatalf("behind seq %d came %.200s", last, text)
		}
		last = b.Seq
	}
	s.checkArchive("streams", "main")
}

// perPhase is how many records are written in each quiet phase.
const perPhase = 10

func crash(t *testing.T, s *system, victims []killable) {
	g := newGrowing(t, "grows")
	screen := start(t, "steno", "tail", "--gateway", s.gatewayURL(), "--grade", "delta", "--since-seq", "0", g.session)
	following := func() *proc { return start(t, "steno", "follow", "--nats-url", s.natsURL(), g.path) }
	follow := following()
	victims = append(victims, killable{"follow", func() { follow.kill(); follow = following() }})

	quiet := func(when string) {
		t.Helper()
		var tokens []string
		for range perPhase {
			tokens = append(tokens, g.write())
			screen.shows(tokens[len(tokens)-1]) // a signal, and time between records
		}
		d := g.delays(screen, tokens)
		t.Logf("%s: on the screen after %v at the median, %v at most", when, d[len(d)/2].Round(time.Millisecond), d[len(d)-1].Round(time.Millisecond))
		if median := d[len(d)/2]; median > 200*time.Millisecond {
			t.Errorf("%s: %v at the median", when, median)
		}
	}
	quiet("at first")
	for _, victim := range victims {
		// Records are also written while the process is away.
		written := make(chan struct{})
		go func() {
			defer close(written)
			for range perPhase {
				g.write()
				time.Sleep(10 * time.Millisecond)
			}
		}()
		begun := time.Now()
		victim.again()
		<-written
		last := g.order[len(g.order)-1]
		screen.shows(last)
		t.Logf("%s killed: everything on the screen %v later", victim.name, time.Since(begun).Round(time.Millisecond))
		quiet("after " + victim.name)
	}
	g.check(screen.output())
	s.checkArchive(g.session, "main")
}
