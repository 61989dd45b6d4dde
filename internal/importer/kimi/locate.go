package kimi

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/stenohq/steno/internal/importer"
	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/events/scan"
)

// Locate implements importer.Format: <session>/agents/<agent>/wire.jsonl. A
// file that lies elsewhere is a session named after it.
func (Format) Locate(path string) (importer.Source, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return importer.Source{}, fmt.Errorf("find out where the file lies: %w", err)
	}
	name := strings.TrimSuffix(filepath.Base(abs), filepath.Ext(abs))
	agentDir := filepath.Dir(abs)
	root := filepath.Dir(filepath.Dir(agentDir))
	agent, agentErr := events.ParseAgentID(filepath.Base(agentDir))
	session, sessionErr := events.ParseSessionID(filepath.Base(root))
	if name != "wire" || filepath.Base(filepath.Dir(agentDir)) != "agents" || agentErr != nil || sessionErr != nil {
		if name == "wire" {
			name = filepath.Base(agentDir)
		}
		session, err := importer.SessionNamed(name)
		return importer.Source{Name: string(session), Session: session, Agent: events.MainAgent}, err
	}
	src := importer.Source{Name: string(session), Session: session, Agent: agent}
	state, err := readState(filepath.Join(root, "state.json"))
	if err != nil {
		return src, err
	}
	src.Labels = state.labels(agent)
	if agent == events.MainAgent {
		return src, nil
	}
	src.Spawn, err = spawnOf(root, agent, state)
	return src, err
}

// state is what a session's state.json says.
type state struct{ importer.Object }

func readState(path string) (state, error) {
	raw, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return state{importer.Object{}}, nil
	}
	if err != nil {
		return state{}, err
	}
	if raw = scan.Trim(raw); !scan.Valid(raw) {
		raw = nil // half written: the log tells most of it
	}
	return state{importer.ObjectOf(raw)}, nil
}

func (s state) agent(id events.AgentID) importer.Object {
	return s.Object.Object("agents").Object(string(id))
}

// labels are those of an agent; the session's title is the main agent's.
func (s state) labels(id events.AgentID) map[string]string {
	labels := make(map[string]string)
	for m := scan.ObjectOf(s.agent(id)["labels"]); m.Next(); {
		if text, ok := scan.Unquote(m.Value()); ok && text != "" {
			labels[strings.Clone(m.Key())] = text
		}
	}
	add := func(name, value string) {
		if value != "" {
			labels[name] = value
		}
	}
	add("cwd", s.Either("workDir", "cwd"))
	if id == events.MainAgent {
		add("title", s.Str("title"))
	}
	return labels
}

// spawnOf finds who started a sub-agent: the record of a sibling that says so,
// else state.json, else the Agent call whose result names it.
func spawnOf(root string, agent events.AgentID, s state) (importer.Spawn, error) {
	logs, err := filepath.Glob(filepath.Join(globQuote(root), "agents", "*", "wire.jsonl"))
	if err != nil {
		return importer.Spawn{}, nil //nolint:nilerr // the directory's name is no pattern
	}
	var byResult importer.Spawn
	for _, log := range logs {
		by, err := events.ParseAgentID(filepath.Base(filepath.Dir(log)))
		if err != nil || by == agent {
			continue
		}
		spawned, result, err := searchLog(log, agent)
		if err != nil {
			return importer.Spawn{}, err
		}
		if spawned.ToolCallID != "" || spawned.Label != "" {
			spawned.Parent = by
			return spawned, nil
		}
		if result.ToolCallID != "" {
			byResult = result
			byResult.Parent = by
		}
	}
	return s.spawn(agent, byResult), nil
}

// globQuote makes a path match itself.
func globQuote(path string) string {
	return strings.NewReplacer(`*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

func (s state) spawn(agent events.AgentID, byResult importer.Spawn) importer.Spawn {
	known := s.agent(agent)
	if parent, err := events.ParseAgentID(known.Either("parentAgentId", "parent")); err == nil {
		if byResult.Parent != parent {
			byResult.ToolCallID = ""
		}
		return importer.Spawn{
			Parent: parent, ToolCallID: importer.First(known.Str("parentToolCallId"), byResult.ToolCallID),
			Label: importer.First(known.Str("description"), known.Object("labels").Str("swarmItem"), byResult.Label),
		}
	}
	if byResult.Parent == "" {
		byResult.Parent = events.MainAgent
	}
	return byResult
}

// searchLog looks in a log for what started an agent.
func searchLog(path string, agent events.AgentID) (spawned, result importer.Spawn, err error) {
	id := []byte(agent)
	names := make(map[string]string) // Agent calls: what for
	err = importer.EachRecord(path, func(raw []byte) bool {
		call := bytes.Contains(raw, []byte(`"Agent`))
		if !call && !bytes.Contains(raw, id) {
			return true
		}
		r := importer.ObjectOf(raw)
		if r.Str("type") == events.TypeSubagentSpawned && r.Str("subagentId") == string(agent) {
			spawned.ToolCallID = strings.Clone(r.Str("parentToolCallId"))
			spawned.Label = strings.Clone(importer.First(r.Str("description"), r.Str("subagentName"), "sub-agent"))
			return false
		}
		e := r.Object("event")
		switch e.Str("type") {
		case "tool.call":
			if args := e.Object("args"); strings.HasPrefix(e.Str("name"), "Agent") {
				names[strings.Clone(e.Str("toolCallId"))] = strings.Clone(importer.First(args.Str("description"), args.Str("subagent_type")))
			}
		case "tool.result":
			label, asked := names[e.Str("toolCallId")]
			text, _ := scan.Unquote(importer.OutputOf(e.Object("result")["output"]))
			if asked && (field(text, "agent_id") == string(agent) || strings.Contains(text, `agent_id="`+string(agent)+`"`)) {
				result.ToolCallID = strings.Clone(e.Str("toolCallId"))
				result.Label = label
			}
		}
		return true
	})
	return spawned, result, err
}
