package mycodeagent

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/stenohq/steno/internal/importer"
	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/events/scan"
)

const (
	prefix   = "transcript-"
	subagent = "subagent-"
)

// Locate implements importer.Format. What stands before transcript- in the
// file's name is not looked at.
func (Format) Locate(path string) (importer.Source, error) {
	name := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	if _, rest, ok := strings.Cut(name, prefix); ok {
		name = rest
	}
	src := importer.Source{Name: name, Agent: events.MainAgent}
	id, ok := strings.CutPrefix(name, subagent)
	if !ok {
		return src, nil
	}
	agent, err := events.ParseAgentID(id)
	if err != nil {
		return src, nil //nolint:nilerr // a file name that is no id says nothing
	}
	src.Agent = agent
	parent, err := findParent(path, id)
	if err != nil {
		return src, err
	}
	if parent.session != "" {
		src.Session = parent.session
		src.Alone = events.SessionID(name)
		src.Spawn = importer.Spawn{Parent: events.MainAgent, ToolCallID: parent.call, Label: parent.label}
	}
	return src, nil
}

// parent is the call that started a sub-agent.
type parent struct {
	session events.SessionID
	call    string
	label   string
}

// findParent looks through the transcripts beside a sub-agent's for the Task
// call whose result names it.
func findParent(path, id string) (parent, error) {
	var found parent
	beside, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*"+prefix+"*.jsonl"))
	if err != nil {
		return found, nil //nolint:nilerr // the directory's name is no pattern
	}
	for _, file := range beside {
		if strings.Contains(filepath.Base(file), prefix+subagent) {
			continue
		}
		err := importer.EachRecord(file, func(raw []byte) bool {
			if bytes.Contains(raw, []byte(id)) {
				found = asks(importer.ObjectOf(raw), id)
			}
			return found.session == ""
		})
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return found, err
		}
		if found.session != "" {
			return found, nil
		}
	}
	return found, nil
}

// asks reads a record as the result of the Task call that started the agent;
// the zero parent when it is none.
func asks(record importer.Object, id string) parent {
	payload := record.Object("payload")
	if record.Str("event_type") != "tool_lifecycle" || childOf(payload) != id {
		return parent{}
	}
	session, err := events.ParseSessionID(record.Str("session_id"))
	if err != nil {
		return parent{}
	}
	args := payload.Object("args")
	return parent{
		session: events.SessionID(strings.Clone(string(session))),
		call:    strings.Clone(payload.Str("tool_call_id")),
		label:   strings.Clone(args.Either("description", "subagent_type")),
	}
}

// childOf is the sub-agent that the result of a Task call names; "" for none.
func childOf(payload importer.Object) string {
	if payload.Str("tool_name") != "Task" {
		return ""
	}
	if id := member(payload["result"], "child_session_id", 8); id != "" {
		return id
	}
	return member(payload["error"], "child_session_id", 8)
}

// member finds a string in nested objects and arrays, depth levels down; of
// JSON written as a string, too.
func member(raw []byte, name string, depth int) string {
	if depth == 0 || !bytes.Contains(raw, []byte(name)) {
		return ""
	}
	switch scan.KindOf(raw) {
	case scan.String:
		if text, _ := scan.Unquote(raw); scan.Valid([]byte(text)) && scan.KindOf([]byte(text)) != scan.String {
			return member([]byte(text), name, depth-1)
		}
	case scan.Array:
		for list := scan.ArrayOf(raw); list.Next(); {
			if id := member(list.Value(), name, depth-1); id != "" {
				return id
			}
		}
	case scan.Object:
		for m := scan.ObjectOf(raw); m.Next(); {
			if m.Key() == name {
				id, _ := scan.Unquote(m.Value())
				return id
			}
			if id := member(m.Value(), name, depth-1); id != "" {
				return id
			}
		}
	default:
	}
	return ""
}
