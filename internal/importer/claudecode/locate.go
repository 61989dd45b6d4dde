package claudecode

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

const agentPrefix = "agent-"

// Locate implements importer.Format. The log of a sub-agent lies at
// <session>/subagents/[workflow/]agent-<id>.jsonl, in older versions beside the
// session's own; who started it stands in the .meta.json beside it, else the
// session's log has a call with the same prompt.
func (Format) Locate(path string) (importer.Source, error) {
	name := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	src := importer.Source{Name: name, Agent: events.MainAgent}
	rest, isAgent := strings.CutPrefix(name, agentPrefix)
	if !isAgent {
		return src, nil
	}
	agent, err := events.ParseAgentID(rest)
	if err != nil {
		return src, nil //nolint:nilerr // a file name that is no id says nothing
	}
	main := ""
	if dir := sessionDir(path); dir != "" {
		src.Session = events.SessionID(filepath.Base(dir))
		main = dir + ".jsonl"
	}
	head, err := readHead(path)
	if err != nil {
		return src, err
	}
	if src.Session == "" {
		if !head.side || head.session == "" {
			return src, nil
		}
		src.Session = head.session
		main = filepath.Join(filepath.Dir(path), string(head.session)+".jsonl")
	}
	src.Agent = agent
	src.Spawn, err = spawnOf(strings.TrimSuffix(path, filepath.Ext(path))+".meta.json", main, head.prompt)
	return src, err
}

// sessionDir is the directory named after the session that a sub-agent's log
// lies below; "" when there is none.
func sessionDir(path string) string {
	dir := filepath.Dir(path)
	for range 3 {
		if filepath.Base(dir) == "subagents" {
			parent := filepath.Dir(dir)
			if _, err := events.ParseSessionID(filepath.Base(parent)); err != nil {
				return ""
			}
			return parent
		}
		dir = filepath.Dir(dir)
	}
	return ""
}

// head is what the beginning of a sub-agent's log says.
type head struct {
	session events.SessionID
	side    bool
	prompt  string
}

func readHead(path string) (head, error) {
	var h head
	err := importer.EachRecord(path, func(raw []byte) bool {
		o := importer.ObjectOf(raw)
		if id, err := events.ParseSessionID(o.Str("sessionId")); err == nil && h.session == "" {
			h.session = id
			h.side = o.Flag("isSidechain")
		}
		if o.Str("type") != "user" {
			return true
		}
		blocks, _ := blocksOf(o.Object("message")["content"])
		h.prompt = textOf(blocks)
		return false
	})
	return h, err
}

func spawnOf(meta, main, prompt string) (importer.Spawn, error) {
	spawn := importer.Spawn{Parent: events.MainAgent}
	raw, err := os.ReadFile(meta)
	if err == nil && scan.Valid(raw) {
		o := importer.ObjectOf(scan.Trim(raw))
		spawn.ToolCallID = o.Str("toolUseId")
		spawn.Label = o.Either("description", "agentType")
	}
	if spawn.ToolCallID != "" || prompt == "" {
		return spawn, nil
	}
	err = importer.EachRecord(main, func(raw []byte) bool {
		if !bytes.Contains(raw, []byte(`"tool_use"`)) {
			return true
		}
		blocks, _ := blocksOf(importer.ObjectOf(raw).Object("message")["content"])
		for _, b := range blocks {
			input := b.Object("input")
			if b.kind == "tool_use" && input.Str("prompt") == prompt {
				spawn.ToolCallID = b.Str("id")
				spawn.Label = importer.First(spawn.Label, input.Str("description"), input.Str("subagent_type"))
				return false
			}
		}
		return true
	})
	if errors.Is(err, os.ErrNotExist) {
		err = nil // the session's log is elsewhere
	}
	return spawn, err
}
