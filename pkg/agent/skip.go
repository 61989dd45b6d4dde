package agent

import (
	"fmt"

	"github.com/stenohq/steno/pkg/events"
)

// encode encodes an event, or steno.skipped in its place when no reader would
// accept it; skipped then says why and wraps ErrSkipped. problem is what the
// caller found wrong already. It fails when not even that can be stored.
func encode(e *events.Event, problem error) (data []byte, skipped, err error) {
	if problem == nil {
		data = events.AppendEvent(make([]byte, 0, 384+len(e.Payload)+len(e.Labels)), e)
		if problem = readable(data); problem == nil {
			return data, nil, nil
		}
	}
	data, err = skippedEvent(e, problem.Error())
	return data, fmt.Errorf("%w: %w", ErrSkipped, problem), err
}

// readable reads the event as every reader will. It leaves data as it is:
// AppendEvent wrote it without line breaks.
func readable(data []byte) error {
	var ev events.Event
	return events.Decode(data, &ev)
}

// skip makes steno.skipped of an event that the server refused for good.
func skip(data []byte, reason string) ([]byte, error) {
	var ev events.Event
	if err := events.Decode(data, &ev); err != nil {
		return nil, fmt.Errorf("decode the refused event: %w", err)
	}
	if ev.Type == events.TypeSkipped {
		return nil, fmt.Errorf("even %s was refused", events.TypeSkipped)
	}
	return skippedEvent(&ev, reason)
}

// skippedEvent is what stands in the place of an event: the same id, run and
// n, so that no hole remains.
func skippedEvent(ev *events.Event, reason string) ([]byte, error) {
	kind := ev.Type
	if len(kind) > events.MaxType {
		kind = kind[:events.MaxType]
	}
	payload, err := events.AppendPayload(nil, events.Skipped{N: ev.N, Type: kind, Reason: reason})
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", events.TypeSkipped, err)
	}
	e := events.Event{
		Type: events.TypeSkipped, Payload: payload, Session: ev.Session, Agent: ev.Agent,
		ID: ev.ID, Timestamp: ev.Timestamp, RunID: ev.RunID, SourceRun: ev.SourceRun, N: ev.N,
	}
	if _, ok := ev.Time(); !ok {
		e.Timestamp = "" // readers take the stored time
	}
	if err := e.Validate(); err != nil {
		return nil, err
	}
	data := events.AppendEvent(nil, &e)
	return data, readable(data)
}
