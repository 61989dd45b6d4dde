package importer

import (
	"context"
	"errors"
	"fmt"

	"github.com/stenohq/steno/pkg/events"
)

// ErrRewritten is wrapped when the log holds events of this run that are not
// the file's: it was rewritten before the point up to which it had been
// imported.
var ErrRewritten = errors.New("file was rewritten before what was imported of it")

// Log takes events. Those of one agent log come in order.
type Log interface {
	Runs
	// Publish takes an event; it may return before the event is stored.
	Publish(ctx context.Context, e *events.Event) error
}

// Feed sends the events of one file that its agent logs do not have yet. It is
// used by one goroutine.
type Feed struct {
	log    Log
	agents map[events.AgentID]*feedState
	Added  int // events published
	Known  int // events that the logs had
}

type feedState struct {
	state  RunState
	newest uint64 // highest n of the file so far
	broken error
}

// NewFeed begins a file.
func NewFeed(log Log) *Feed {
	return &Feed{log: log, agents: make(map[events.AgentID]*feedState)}
}

// Send publishes what is new of list, in order. It stops at the first error of
// the log; an agent log that does not fit the file takes nothing more, which
// Err tells.
func (f *Feed) Send(ctx context.Context, list []*events.Event) error {
	for _, e := range list {
		st, err := f.stateOf(ctx, e)
		if err != nil {
			return err
		}
		st.newest = e.N
		if e.N+1 == st.state.Next && st.state.LastEventID != "" && st.state.LastEventID != e.ID {
			st.broken = fmt.Errorf("agent %s: event %d of the log is %s, in the file it is %s: %w",
				e.Agent, e.N, st.state.LastEventID, e.ID, ErrRewritten)
		}
		if e.N < st.state.Next {
			f.Known++
			continue
		}
		if st.broken != nil {
			continue
		}
		if err := f.log.Publish(ctx, e); err != nil {
			return fmt.Errorf("publish event %d of agent %s: %w", e.N, e.Agent, err)
		}
		f.Added++
	}
	return nil
}

func (f *Feed) stateOf(ctx context.Context, e *events.Event) (*feedState, error) {
	if st := f.agents[e.Agent]; st != nil {
		return st, nil
	}
	state, err := f.log.Run(ctx, e.Session, e.Agent, e.RunID)
	if err != nil {
		return nil, fmt.Errorf("ask where session %s, agent %s stands: %w", e.Session, e.Agent, err)
	}
	st := &feedState{state: state}
	f.agents[e.Agent] = st
	return st, nil
}

// Err tells what did not fit: nil when every event was known or published.
func (f *Feed) Err() error {
	var all []error
	for _, st := range f.agents {
		if st.broken != nil {
			all = append(all, st.broken)
		}
	}
	return errors.Join(all...)
}

// Missing is how many events the logs hold beyond the file: above 0 when the
// file was cut.
func (f *Feed) Missing() uint64 {
	var n uint64
	for _, st := range f.agents {
		if st.state.Next > st.newest+1 {
			n += st.state.Next - 1 - st.newest
		}
	}
	return n
}
