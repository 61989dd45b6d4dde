package codex

import (
	"path/filepath"
	"regexp"
	"strings"

	"github.com/stenohq/steno/internal/importer"
	"github.com/stenohq/steno/pkg/events"
)

// named takes the id out of a rollout's file name.
var named = regexp.MustCompile(`^rollout-.*-([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})$`)

// Locate implements importer.Format. The source's name is the id in the file
// name. A sub-agent has a rollout of its own, whose first record names the
// thread that started it: it is an agent of that thread's session.
func (Format) Locate(path string) (importer.Source, error) {
	name := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	src := importer.Source{Name: name, Agent: events.MainAgent}
	if m := named.FindStringSubmatch(name); m != nil {
		src.Name = m[1]
	}
	first := object{}
	err := importer.EachRecord(path, func(raw []byte) bool {
		if o := importer.ObjectOf(raw); o.Str("type") == "session_meta" {
			first = o.Object("payload")
		}
		return false
	})
	if err != nil {
		return src, err
	}
	s := spawned(first)
	if s.session == "" {
		return src, nil
	}
	src.Session, src.Agent = s.session, s.agent
	src.Spawn = importer.Spawn{Parent: events.MainAgent, Label: s.label}
	if s.parent != string(s.session) {
		src.Spawn.Parent = events.AgentID(s.parent)
	}
	src.Spawn.ToolCallID, err = spawningCall(filepath.Dir(path), s.parent, string(s.agent))
	return src, err
}

// thread is a sub-agent as its session_meta describes it.
type thread struct {
	session events.SessionID // of the root; "" when it is no sub-agent
	agent   events.AgentID
	parent  string // id of the thread that started it
	label   string
}

// spawned reads who started a thread. Below the first level the root is only
// known when the record names it.
func spawned(meta object) thread {
	how := meta.Object("source").Object("subagent").Object("thread_spawn")
	parent := importer.First(how.Str("parent_thread_id"), meta.Str("parent_thread_id"))
	id := meta.Str("id")
	if len(how) == 0 || parent == "" || parent == id {
		return thread{}
	}
	root := parent
	if s := meta.Str("session_id"); s != "" && s != id {
		root = s
	} else if depth, ok := firstInt(how, "depth"); ok && depth > 1 {
		return thread{}
	}
	session, err := events.ParseSessionID(root)
	agent, agentErr := events.ParseAgentID(id)
	_, parentErr := events.ParseAgentID(parent)
	if err != nil || agentErr != nil || parentErr != nil || agent == events.MainAgent {
		return thread{}
	}
	label := importer.First(how.Str("agent_nickname"), how.Str("agent_role"), how.Str("agent_path"))
	return thread{session: session, agent: agent, parent: parent, label: label}
}

// spawningCall looks in the parent's rollout, when it lies beside the file, for
// the tool call that started the agent.
func spawningCall(dir, parent, agent string) (string, error) {
	found, err := filepath.Glob(filepath.Join(dir, "*"+parent+".jsonl"))
	if err != nil || len(found) != 1 {
		return "", nil //nolint:nilerr // an id that is no pattern finds no file
	}
	call := ""
	err = importer.EachRecord(found[0], func(raw []byte) bool {
		p := importer.ObjectOf(raw).Object("payload")
		switch {
		case p.Str("type") == "collab_agent_spawn_end" && p.Str("new_thread_id") == agent:
			call = p.Str("call_id")
		case p.Str("type") == "sub_agent_activity" && p.Str("kind") == "started" && p.Str("agent_thread_id") == agent:
			call = p.Str("event_id")
		}
		return call == ""
	})
	return call, err
}
