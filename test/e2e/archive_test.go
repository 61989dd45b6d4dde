package e2e

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/fold"
	"github.com/stenohq/steno/pkg/protocol"
	"github.com/stenohq/steno/pkg/reducer"
)

// wireLine is what the recorder adds to an envelope.
type wireLine struct {
	Type      string `json:"type"`
	Seq       uint64 `json:"seq"`
	StreamSeq uint64 `json:"stream_seq"`
	Hash      string `json:"h"`
}

// wire reads a wire.jsonl as a stranger would, and checks what it promises: a
// metadata line, then each stored message once, in order, chained by hashes.
func (s *system) wire(session, agent string) [][]byte {
	s.t.Helper()
	path := filepath.Join(s.data, "sessions", session, "agents", agent, "wire.jsonl")
	data, err := os.ReadFile(path)
	if err != nil {
		s.t.Fatal(err)
	}
	if !bytes.HasSuffix(data, []byte("\n")) {
		s.t.Fatalf("%s: the last line has no end", path)
	}
	lines := bytes.Split(data[:len(data)-1], []byte("\n"))
	var meta wireLine
	if err := json.Unmarshal(lines[0], &meta); err != nil || meta.Type != "metadata" {
		s.t.Fatalf("%s: first line %.200s", path, lines[0])
	}
	for i, l := range lines[1:] {
		var w wireLine
		if err := json.Unmarshal(l, &w); err != nil {
			s.t.Fatalf("%s line %d: %v", path, i+2, err)
		}
		sum := sha256.Sum256(lines[i])
		if w.Seq != uint64(i+1) || w.Hash != hex.EncodeToString(sum[:]) {
			s.t.Fatalf("%s line %d: seq %d, h %s; want %d, %x", path, i+2, w.Seq, w.Hash, i+1, sum)
		}
	}
	return lines[1:]
}

// checkArchive holds an agent's wire.jsonl against the stream and against what
// the gateway serves: every stored message exactly once, and the fold of the
// file is byte for byte the gateway's transcript.
func (s *system) checkArchive(session, agent string) {
	s.t.Helper()
	stored := s.messages(session, agent)
	eventually(s.t, "the recorder has written "+session+"/"+agent, func() bool {
		data, err := os.ReadFile(filepath.Join(s.data, "sessions", session, "agents", agent, "wire.jsonl"))
		return err == nil && bytes.Count(data, []byte("\n")) > len(stored)
	})
	lines := s.wire(session, agent)
	if len(lines) != len(stored) {
		s.t.Fatalf("%s/%s: %d lines, %d stored messages", session, agent, len(lines), len(stored))
	}
	f := fold.New(events.SessionID(session), events.AgentID(agent))
	tree := reducer.NewTranscript(agent)
	for i, l := range lines {
		var w wireLine
		if err := json.Unmarshal(l, &w); err != nil {
			s.t.Fatal(err)
		}
		envelope := withoutTail(s.t, l)
		if w.StreamSeq != stored[i].seq || !bytes.Equal(envelope, stored[i].data) {
			s.t.Fatalf("%s/%s line %d is stream message %d\n%.300s\nthe stream has %d\n%.300s", session, agent, i+1, w.StreamSeq, envelope, stored[i].seq, stored[i].data)
		}
		b := f.Step(fold.Record{Seq: w.Seq, StreamSeq: w.StreamSeq, StoredAt: storedAt(s.t, l), Data: envelope})
		if res := tree.Apply(b.Ops); res.Gap != nil {
			s.t.Fatalf("%s/%s seq %d: %+v", session, agent, w.Seq, res.Gap)
		}
	}
	s.compare(session, agent, f, tree)
}

// compare asks for every page and makes the same from a fold: the newest from
// its state, older ones from all operations.
func (s *system) compare(session, agent string, f *fold.Agent, tree *reducer.Transcript) {
	s.t.Helper()
	query := url.Values{"agent_id": {agent}, "page_size": {"7"}}
	pages := 0
	for before := ""; ; pages++ {
		if before != "" {
			query.Set("before_turn", before)
		}
		got := s.mustGet("/v1/sessions/"+session+"/transcript?"+query.Encode(), nil)
		served, err := protocol.DecodePage(got)
		if err != nil {
			s.t.Fatal(err)
		}
		page, err := reducer.Paginate(tree.Snapshot(-1), reducer.PageQuery{Before: before, Size: 7})
		if err != nil {
			s.t.Fatal(err)
		}
		// The roster and the epoch are of the session, not of this log.
		want := protocol.Page{
			AgentID: agent, Snapshot: page.Snapshot, HasMore: page.HasMore, Agents: served.Agents, Seq: f.Seq(), Epoch: served.Epoch,
		}
		if text := want.AppendJSON(nil); !bytes.Equal(text, got) {
			at := 0
			for at < min(len(text), len(got)) && text[at] == got[at] {
				at++
			}
			s.t.Fatalf("%s/%s: the page before %q differs at byte %d:\nserved …%.300s\nfolded …%.300s", session, agent, before, at, got[max(0, at-60):], text[max(0, at-60):])
		}
		if !page.HasMore {
			return
		}
		for turn := range page.Turns() {
			before = turn.TurnID
			break
		}
	}
}

// withoutTail is the envelope as published: a line without the recorder's
// members, which stand last.
func withoutTail(t *testing.T, l []byte) []byte {
	t.Helper()
	i := bytes.LastIndex(l, []byte(`,"seq":`))
	if i < 0 {
		t.Fatalf("line without seq: %.200s", l)
	}
	return append(append([]byte(nil), l[:i]...), '}')
}

// storedAt is the line's stored_at in Unix milliseconds.
func storedAt(t *testing.T, l []byte) int64 {
	t.Helper()
	var w struct {
		At time.Time `json:"stored_at"`
	}
	if err := json.Unmarshal(l, &w); err != nil {
		t.Fatal(err)
	}
	return w.At.UnixMilli()
}
