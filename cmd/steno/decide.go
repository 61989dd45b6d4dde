package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/stenohq/steno/cmd/internal/cli"
	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/resume"
)

// decideTimeout bounds the wait until a decision is in the state.
const decideTimeout = 10 * time.Second

// decision is what somebody says of a call, which may be named with its run.
type decision struct{ call, verdict string }

func parseDecisions(list []string) ([]decision, error) {
	var all []decision
	for _, s := range list {
		i := strings.LastIndexByte(s, '=')
		if i <= 0 {
			return nil, cli.Usagef("--decide %q: want CALL=done, CALL=failed or CALL=retry", short(s))
		}
		d := decision{s[:i], s[i+1:]}
		switch d.verdict {
		case "done", "failed", "retry":
			all = append(all, d)
		default:
			return nil, cli.Usagef("--decide %q: want done, failed or retry behind the =", short(s))
		}
	}
	return all, nil
}

// settle publishes decisions and waits until the state shows them. All of them
// are checked before the first is published.
func (r *resumer) settle(ctx context.Context, st *resume.State, wanted []decision) (*resume.State, []byte, error) {
	calls := make([]resume.ToolCall, len(wanted))
	for i, d := range wanted {
		c, err := uncertain(st, d.call)
		if err != nil {
			return nil, nil, err
		}
		calls[i] = c
	}
	for i, d := range wanted {
		if err := r.publish(ctx, calls[i], d.verdict); err != nil {
			return nil, nil, fmt.Errorf("decide about %s: %w", short(d.call), err)
		}
	}
	return r.await(ctx, calls)
}

// uncertain finds the uncertain call that is meant by an id, or by run/id.
func uncertain(st *resume.State, name string) (resume.ToolCall, error) {
	var found []resume.ToolCall
	class := resume.Class("")
	for _, c := range st.ToolCalls {
		if c.ToolCallID != name && c.RunID+"/"+c.ToolCallID != name {
			continue
		}
		if class = c.Class; class == resume.ClassUncertain {
			found = append(found, c)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		runs := make([]string, len(found))
		for i, c := range found {
			runs[i] = c.RunID
		}
		return resume.ToolCall{}, fmt.Errorf("call %q is uncertain in %d runs: name one as RUN/CALL; the runs are %s", short(name), len(found), strings.Join(runs, ", "))
	case class != "":
		return resume.ToolCall{}, fmt.Errorf("call %q is not uncertain, it is %s: there is nothing to decide", short(name), class)
	}
	return resume.ToolCall{}, fmt.Errorf("there is no call %q in session %s, agent %s", short(name), st.SessionID, st.AgentID)
}

// publish stores a decision. It belongs to no run, so that it takes no number
// of a runtime that may be publishing.
func (r *resumer) publish(ctx context.Context, c resume.ToolCall, verdict string) error {
	payload, err := events.AppendPayload(nil, events.ActionDecided{
		RunID: c.RunID, ToolCallID: c.ToolCallID, Decision: verdict, By: r.by, Note: r.note,
	})
	if err != nil {
		return err
	}
	id, err := uuid.NewV7()
	if err != nil {
		return fmt.Errorf("make an event id: %w", err)
	}
	event := events.AppendEvent(nil, &events.Event{
		Session: r.session, Agent: r.agent, ID: id.String(), Type: events.TypeActionDecided, Payload: payload,
		Timestamp: time.Now().UTC().Format(events.TimeFormat),
	})
	return r.client.Publish(ctx, r.session, r.agent, event)
}

// await reads the state until none of the calls is uncertain.
func (r *resumer) await(ctx context.Context, calls []resume.ToolCall) (*resume.State, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, decideTimeout)
	defer cancel()
	for {
		st, raw, err := r.client.Resume(ctx, r.session, r.agent, r.run)
		if err != nil {
			return nil, nil, fmt.Errorf("read the state behind the decision: %w", err)
		}
		if !anyUncertain(st, calls) {
			return st, raw, nil
		}
		select {
		case <-ctx.Done():
			return nil, nil, errors.New("the decision is stored, but the state does not show it; look again in a moment")
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func anyUncertain(st *resume.State, calls []resume.ToolCall) bool {
	for _, c := range st.ToolCalls {
		for _, d := range calls {
			if c.Class == resume.ClassUncertain && c.RunID == d.RunID && c.ToolCallID == d.ToolCallID {
				return true
			}
		}
	}
	return false
}
