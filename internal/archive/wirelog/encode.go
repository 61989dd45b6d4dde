package wirelog

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"strconv"

	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/events/scan"
)

// Message is one stored message as the event log gives it.
type Message struct {
	StreamSeq uint64
	StoredAt  int64 // Unix milliseconds
	Data      []byte
	Lost      bool // a placeholder that stands for a destroyed message
	// Seq is only looked at in what a Source yields; elsewhere the log counts.
	Seq uint64
}

// typePrefix begins every line of the recorder's own. None of them ends as an
// event does.
const typePrefix = `{"type":"`

// appendMessage appends the line of one stored message, without newline.
func appendMessage(dst []byte, s events.SessionID, a events.AgentID, m Message, pos events.Position, prev Hash) []byte {
	if m.Lost {
		return appendLost(dst, pos.Seq, pos, prev, "")
	}
	data := m.Data
	broken := hasBreak(data)
	if broken {
		data = bytes.Clone(data) // Read turns line breaks into spaces
	}
	var ev events.Event
	switch err := events.Read(data, s, a, &ev); {
	case err != nil:
		return events.AppendInvalidLine(dst, m.Data, err.Error(), pos, prev)
	case !broken && data[0] == '{' && data[len(data)-1] == '}':
		return events.AppendEventLine(dst, data, pos, prev)
	}
	dst = appendOwn(dst, "event", pos, prev)
	dst = append(dst, `,"raw":"`...)
	dst = base64.StdEncoding.AppendEncode(dst, m.Data)
	return append(dst, `"}`...)
}

func hasBreak(data []byte) bool {
	return bytes.IndexByte(data, '\n') >= 0 || bytes.IndexByte(data, '\r') >= 0
}

// appendLost appends the line that stands for the destroyed pos.Seq to seqTo;
// pos.StreamSeq is the last one known to be covered.
func appendLost(dst []byte, seqTo uint64, pos events.Position, prev Hash, reason string) []byte {
	dst = appendOwn(dst, "lost", pos, prev)
	dst = strconv.AppendUint(append(dst, `,"seq_to":`...), seqTo, 10)
	return append(scan.AppendQuote(append(dst, `,"reason":`...), reason), '}')
}

// appendChain appends the line that joins the chain again after a repair: the
// next line still names the hash of the line that once stood before it.
func appendChain(dst []byte, prev, next Hash) []byte {
	dst = append(dst, typePrefix+`chain","reason":"repaired","h":"`...)
	dst = hex.AppendEncode(dst, prev[:])
	dst = append(dst, `","next_h":"`...)
	dst = hex.AppendEncode(dst, next[:])
	return append(dst, `"}`...)
}

// appendOwn begins a line of the recorder's own.
func appendOwn(dst []byte, kind string, pos events.Position, prev Hash) []byte {
	dst = append(append(append(dst, typePrefix...), kind...), `","seq":`...)
	dst = strconv.AppendUint(dst, pos.Seq, 10)
	dst = strconv.AppendUint(append(dst, `,"stream_seq":`...), pos.StreamSeq, 10)
	dst = events.AppendTime(append(dst, `,"stored_at":"`...), pos.StoredAt)
	dst = hex.AppendEncode(append(dst, `","h":"`...), prev[:])
	return append(dst, '"')
}
