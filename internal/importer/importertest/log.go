package importertest

import (
	"context"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/stenohq/steno/internal/importer"
	"github.com/stenohq/steno/pkg/events"
)

// Log is an importer.Log in memory that admits as a log of ours does.
type Log struct {
	stored map[string][]*events.Event // by session, agent and run
	runs   map[string]string          // current run by session and agent
}

var _ importer.Log = (*Log)(nil)

// NewLog makes an empty log.
func NewLog() *Log {
	return &Log{stored: make(map[string][]*events.Event), runs: make(map[string]string)}
}

// Run implements importer.Runs.
func (l *Log) Run(_ context.Context, s events.SessionID, a events.AgentID, run string) (importer.RunState, error) {
	had := l.stored[fmt.Sprint(s, "/", a, "/", run)]
	state := importer.RunState{Next: uint64(len(had)) + 1, Current: l.runs[fmt.Sprint(s, "/", a)]}
	if len(had) > 0 {
		state.LastEventID = had[len(had)-1].ID
	}
	return state, nil
}

// Publish implements importer.Log.
func (l *Log) Publish(_ context.Context, e *events.Event) error {
	key := fmt.Sprint(e.Session, "/", e.Agent, "/", e.RunID)
	if e.N != uint64(len(l.stored[key]))+1 {
		return fmt.Errorf("n %d behind %d", e.N, len(l.stored[key]))
	}
	l.stored[key] = append(l.stored[key], e)
	l.runs[fmt.Sprint(e.Session, "/", e.Agent)] = e.RunID
	return nil
}

// Idempotent checks that importing a file at several points of its growth, and
// then again, stores each event once.
func (s *Suite) Idempotent(t *testing.T) {
	for _, path := range s.Files(t) {
		data := read(t, path)
		src := s.Locate(t, path)
		t.Run(s.Name(path), func(t *testing.T) {
			whole, _ := s.Decode(src, data)
			rapid.Check(t, func(rt *rapid.T) {
				log := NewLog()
				added := 0
				for _, size := range rapid.SliceOfN(rapid.IntRange(0, len(data)), 0, 2).Draw(rt, "sizes") {
					added += s.send(rt, log, src, data[:size])
				}
				added += s.send(rt, log, src, data)
				if again := s.send(rt, log, src, data); again != 0 || added != len(whole) {
					rt.Fatalf("stored %d of %d events, then %d again", added, len(whole), again)
				}
			})
		})
	}
}

type fataler interface {
	Fatalf(format string, args ...any)
	Context() context.Context
}

func (s *Suite) send(t fataler, log importer.Log, src importer.Source, data []byte) int {
	list, _ := s.Decode(src, data)
	feed := importer.NewFeed(log)
	if err := feed.Send(t.Context(), list); err != nil {
		t.Fatalf("send: %v", err)
	}
	if err := feed.Err(); err != nil {
		t.Fatalf("feed: %v", err)
	}
	return feed.Added
}
