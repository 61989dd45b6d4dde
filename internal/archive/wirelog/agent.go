package wirelog

import (
	"fmt"
	"sync"

	"github.com/stenohq/steno/internal/eventlog"
	"github.com/stenohq/steno/pkg/events"
)

// Agent is one open agent log: it numbers messages and chains their lines.
// Its methods are for one goroutine, and not while a Commit that was given the
// agent is running.
type Agent struct {
	session events.SessionID
	agent   events.AgentID
	epoch   string
	stream  eventlog.StreamID
	dir     string

	// The log with what is not durable yet.
	part      int
	fresh     bool // the part has no metadata line yet
	seq       uint64
	streamSeq uint64 // in stream
	link      Hash
	seen      uint64 // ordinal of the last message given to Add
	buf       []byte
	bufs      *sync.Pool // of *[]byte, for buf
	mark      Anchor     // what is durable

	// Of the lines that lie beyond what was committed, the hashes, oldest
	// first: Add proves that they are what the stream holds.
	proofs []proof

	// While messages of a stream that was made anew are skipped: what the log
	// holds next, and how to read on behind a seq.
	former     []formerLine
	readFormer func(after uint64) ([]formerLine, error)

	// Owned by the committer.
	file     File
	used     uint64 // when the file was used last
	durable  int64
	broken   bool     // what lies beyond durable may be anything
	syncDirs []string // directories whose entries are new
	err      error
}

// proof is what is known of one line beyond what was committed.
type proof struct {
	seq, streamSeq uint64
	lost           bool // stands for all messages up to streamSeq
	prev, hash     Hash
}

// formerLine is a line recorded from a former stream.
type formerLine struct {
	seqTo uint64
	lost  bool
	data  Hash // of the message
}

// Session returns the session's id.
func (a *Agent) Session() events.SessionID { return a.session }

// ID returns the agent's id.
func (a *Agent) ID() events.AgentID { return a.agent }

// Seq is the number of the last line, durable or not.
func (a *Agent) Seq() uint64 { return a.seq }

// StreamSeq is the stream sequence of the last line in the stream recorded
// now; 0 when there is none.
func (a *Agent) StreamSeq() uint64 { return a.streamSeq }

// Mark is the position up to which everything is durable, of what was given
// to Add.
func (a *Agent) Mark() Anchor { return a.mark }

// Err is what the last Commit said about this agent.
func (a *Agent) Err() error { return a.err }

// Dirty tells whether a Commit is needed.
func (a *Agent) Dirty() bool { return len(a.buf) > 0 || len(a.syncDirs) > 0 }

// Buffered is the number of bytes that wait for a Commit.
func (a *Agent) Buffered() int { return len(a.buf) }

// DiffersError says that line Seq, which was written but never committed, is
// not what the stream holds. Open the agent again with Distrust = Seq.
type DiffersError struct {
	File string
	Seq  uint64
}

func (e *DiffersError) Error() string {
	return fmt.Sprintf("%s: line of seq %d is not the stored message", e.File, e.Seq)
}

// Add appends the line of the agent's next stored message, unless the log
// holds it already; the messages must come in stream order. It reports whether
// it was added. The line is durable after the next Commit. ErrTooLarge,
// ErrOtherLog, or a *DiffersError.
func (a *Agent) Add(m Message) (bool, error) {
	if len(m.Data) > MaxMessage {
		return false, fmt.Errorf("%w: %d bytes, the limit is %d", ErrTooLarge, len(m.Data), MaxMessage)
	}
	if m.StreamSeq <= a.streamSeq {
		return false, a.prove(m)
	}
	if a.streamSeq == 0 && a.seen < a.seq {
		return false, a.skip(m)
	}
	if a.buf == nil {
		a.buf = (*a.bufs.Get().(*[]byte))[:0]
	}
	if a.fresh {
		a.buf = events.AppendMetadataLine(a.buf, &Metadata{
			Session: a.session, Agent: a.agent, Epoch: a.epoch, Part: a.part, FirstSeq: a.seq + 1, Prev: a.link,
			Stream: a.stream.Name, StreamCreated: a.stream.Created.UnixMilli(), CreatedAt: m.StoredAt,
		})
		a.link = events.HashLine(a.buf)
		a.buf = append(a.buf, '\n')
		a.fresh = false
	}
	start := len(a.buf)
	a.buf = appendMessage(a.buf, a.session, a.agent, m,
		events.Position{Seq: a.seq + 1, StreamSeq: m.StreamSeq, StoredAt: m.StoredAt}, a.link)
	a.link = events.HashLine(a.buf[start:])
	a.buf = append(a.buf, '\n')
	a.seq++
	a.seen, a.streamSeq = a.seq, m.StreamSeq
	return true, nil
}

// skip passes over a message of a stream that was made anew from this log: the
// numbers are the same.
func (a *Agent) skip(m Message) error {
	if m.StreamSeq <= a.mark.StreamSeq {
		return nil
	}
	seq := a.seen + 1
	for len(a.former) > 0 && a.former[0].seqTo < seq {
		a.former = a.former[1:]
	}
	if len(a.former) == 0 {
		var err error
		if a.former, err = a.readFormer(a.seen); err != nil {
			return err
		}
	}
	if len(a.former) > 0 && !a.former[0].lost && !m.Lost && a.former[0].data != events.HashLine(m.Data) {
		return fmt.Errorf("%w: message %d of session %q, agent %q differs from what is archived; restore the archive into an empty stream, or move %s away",
			ErrOtherLog, seq, a.session, a.agent, a.dir)
	}
	if a.seen = seq; seq == a.seq {
		a.streamSeq, a.former = m.StreamSeq, nil
	}
	a.mark = Anchor{Part: a.part, Seq: seq, Stream: a.stream, StreamSeq: m.StreamSeq}
	return nil
}

// prove compares a line that is in the file with its message.
func (a *Agent) prove(m Message) error {
	for len(a.proofs) > 0 && a.proofs[0].streamSeq < m.StreamSeq {
		a.proofs = a.proofs[1:]
	}
	if len(a.proofs) == 0 {
		a.proofs = nil // lets go of the array
	}
	if len(a.proofs) == 0 || m.StreamSeq <= a.mark.StreamSeq {
		return nil
	}
	p := a.proofs[0]
	if p.lost {
		return nil
	}
	line := appendMessage(nil, a.session, a.agent, m,
		events.Position{Seq: p.seq, StreamSeq: p.streamSeq, StoredAt: m.StoredAt}, p.prev)
	if p.streamSeq != m.StreamSeq || events.HashLine(line) != p.hash {
		return &DiffersError{File: a.dir + "/" + openFile, Seq: p.seq}
	}
	a.mark = Anchor{Part: a.part, Seq: p.seq, Stream: a.stream, StreamSeq: p.streamSeq, H: p.hash}
	return nil
}

// newPart goes on in a new file behind part num.
func (a *Agent) newPart(num int) {
	a.part, a.fresh, a.durable = num+1, true, 0
}

// position is where the log stands, durable or not.
func (a *Agent) position() Anchor {
	return Anchor{Part: a.part, Seq: a.seq, Stream: a.stream, StreamSeq: a.streamSeq, H: a.link}
}
