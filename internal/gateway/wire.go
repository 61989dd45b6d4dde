package gateway

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"net/http"
	"strconv"

	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/events/scan"
	"github.com/stenohq/steno/pkg/fold"
)

// wire streams the agent log as NDJSON: the lines of wire.jsonl without the
// hashes, which chain a recorder's file and not this answer.
func (c *call) wire() *problem {
	agent := c.query.agent()
	since, _ := c.query.seq("since_seq")
	if c.query.wrong != nil {
		return c.query.wrong
	}
	f, release, p := c.feed(agent)
	if p != nil {
		return p
	}
	defer release()
	if _, err := f.catchUp(c.r.Context()); err != nil {
		return asProblem(err)
	}
	out := bufio.NewWriterSize(c.w, 32<<10)
	started := false
	var line []byte
	for rec, err := range f.records(c.r.Context(), since) {
		switch {
		case err != nil && !started:
			return asProblem(err)
		case err != nil:
			c.g.log.Warn("wire_answer_cut", "session", c.session, "agent", agent, "error", err)
			panic(http.ErrAbortHandler) // cut, so that nobody takes it for whole
		case !started:
			started = true
			c.ndjson()
		}
		if out.Available() < 4<<10 {
			c.patience()
		}
		line = append(appendWireLine(line[:0], &rec, c.session, agent), '\n')
		if _, err := out.Write(line); err != nil {
			return nil // the client has gone
		}
	}
	if !started {
		c.ndjson()
	}
	c.patience()
	_ = out.Flush()
	return nil
}

func (c *call) ndjson() {
	c.w.Header().Set("Content-Type", "application/x-ndjson")
	c.w.Header().Set("Cache-Control", "no-store")
}

// appendWireLine appends the line of one record, as wire.jsonl has it.
func appendWireLine(dst []byte, r *fold.Record, s events.SessionID, a events.AgentID) []byte {
	if r.Kind == fold.Lost {
		return fmt.Appendf(dst, `{"type":"lost","seq":%d,"seq_to":%d}`, r.Seq, r.SeqTo)
	}
	var ev events.Event
	err := events.Read(r.Data, s, a, &ev)
	if err == nil {
		data := scan.Trim(r.Data)
		dst = append(append(dst, data[:len(data)-1]...), ',')
		return append(appendPosition(dst, r), '}')
	}
	dst = appendPosition(append(dst, `{"type":"invalid",`...), r)
	dst = scan.AppendQuote(append(dst, `,"reason":`...), err.Error())
	dst = append(dst, `,"raw":"`...)
	return append(base64.StdEncoding.AppendEncode(dst, r.Data), '"', '}')
}

func appendPosition(dst []byte, r *fold.Record) []byte {
	dst = strconv.AppendUint(append(dst, `"seq":`...), r.Seq, 10)
	dst = strconv.AppendUint(append(dst, `,"stream_seq":`...), r.StreamSeq, 10)
	return append(events.AppendTime(append(dst, `,"stored_at":"`...), r.StoredAt), '"')
}
