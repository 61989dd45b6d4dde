package claudecode

import (
	"bufio"
	"bytes"
	"errors"
	"io"
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
	err := eachRecord(path, func(raw []byte) bool {
		o := objectOf(raw)
		if id, err := events.ParseSessionID(o.str("sessionId")); err == nil && h.session == "" {
			h.session = id
			h.side = o.flag("isSidechain")
		}
		if o.str("type") != "user" {
			return true
		}
		blocks, _ := blocksOf(o.object("message")["content"])
		h.prompt = textOf(blocks)
		return false
	})
	return h, err
}

func spawnOf(meta, main, prompt string) (importer.Spawn, error) {
	spawn := importer.Spawn{Parent: events.MainAgent}
	raw, err := os.ReadFile(meta)
	if err == nil && scan.Valid(raw) {
		o := objectOf(scan.Trim(raw))
		spawn.ToolCallID = o.str("toolUseId")
		spawn.Label = o.either("description", "agentType")
	}
	if spawn.ToolCallID != "" || prompt == "" {
		return spawn, nil
	}
	err = eachRecord(main, func(raw []byte) bool {
		if !bytes.Contains(raw, []byte(`"tool_use"`)) {
			return true
		}
		blocks, _ := blocksOf(objectOf(raw).object("message")["content"])
		for _, b := range blocks {
			input := b.object.object("input")
			if b.kind == "tool_use" && input.str("prompt") == prompt {
				spawn.ToolCallID = b.str("id")
				spawn.Label = first(spawn.Label, input.str("description"), input.str("subagent_type"))
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

// eachRecord reads a file's lines that are JSON objects until yield says stop.
func eachRecord(path string, yield func(raw []byte) bool) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewReaderSize(f, 1<<16)
	for {
		b, err := lines.ReadBytes('\n')
		if len(b) > importer.MaxLine {
			return nil
		}
		if raw := scan.Trim(b); scan.KindOf(raw) == scan.Object && scan.Valid(raw) && !yield(raw) {
			return nil
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
