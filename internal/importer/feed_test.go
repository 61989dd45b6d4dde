package importer

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stenohq/steno/pkg/events"
)

// memory is a Log that keeps what it gets, as admission would.
type memory struct {
	stored map[string][]*events.Event // by session, agent and run
	runs   map[string]string          // current run by session and agent
	fail   error
}

func newMemory() *memory {
	return &memory{stored: map[string][]*events.Event{}, runs: map[string]string{}}
}

func (m *memory) Run(_ context.Context, s events.SessionID, a events.AgentID, run string) (RunState, error) {
	had := m.stored[fmt.Sprint(s, a, run)]
	state := RunState{Next: uint64(len(had)) + 1, Current: m.runs[fmt.Sprint(s, a)]}
	if len(had) > 0 {
		state.LastEventID = had[len(had)-1].ID
	}
	return state, nil
}

func (m *memory) Publish(_ context.Context, e *events.Event) error {
	if m.fail != nil {
		return m.fail
	}
	key := fmt.Sprint(e.Session, e.Agent, e.RunID)
	if e.N != uint64(len(m.stored[key]))+1 {
		return fmt.Errorf("n %d behind %d", e.N, len(m.stored[key]))
	}
	m.stored[key] = append(m.stored[key], e)
	m.runs[fmt.Sprint(e.Session, e.Agent)] = e.RunID
	return nil
}

var threeLines = []string{
	`{"type":"a","id":"1","s":"S","t":"2026-01-01T00:00:00Z"}`, `{"type":"b","id":"2"}`, `{"type":"c","id":"3"}`,
}

func send(t *testing.T, log Log, lines ...string) *Feed {
	t.Helper()
	list, _ := feed(lines...)
	f := NewFeed(log)
	if err := f.Send(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestFeedTwiceAddsNothing(t *testing.T) {
	log := newMemory()
	if f := send(t, log, threeLines[:2]...); f.Added != 2 || f.Known != 0 {
		t.Errorf("added %d, known %d", f.Added, f.Known)
	}
	if f := send(t, log, threeLines...); f.Added != 1 || f.Known != 2 || f.Err() != nil || f.Missing() != 0 {
		t.Errorf("grown: added %d, known %d, %v", f.Added, f.Known, f.Err())
	}
	if f := send(t, log, threeLines...); f.Added != 0 || f.Known != 3 {
		t.Errorf("again: added %d, known %d", f.Added, f.Known)
	}
	if f := send(t, log, threeLines[0]); f.Added != 0 || f.Missing() != 2 {
		t.Errorf("cut: added %d, missing %d", f.Added, f.Missing())
	}
}

func TestFeedRewritten(t *testing.T) {
	log := newMemory()
	send(t, log, threeLines[:2]...)
	f := send(t, log, threeLines[0], `{"type":"b","id":"other"}`, threeLines[2])
	if !errors.Is(f.Err(), ErrRewritten) || f.Added != 0 {
		t.Errorf("added %d, error %v", f.Added, f.Err())
	}
}

func TestFeedStopsAtError(t *testing.T) {
	log := newMemory()
	log.fail = errors.New("no room")
	list, _ := feed(threeLines...)
	f := NewFeed(log)
	if err := f.Send(t.Context(), list); !errors.Is(err, log.fail) || f.Added != 0 {
		t.Errorf("added %d, error %v", f.Added, err)
	}
}
