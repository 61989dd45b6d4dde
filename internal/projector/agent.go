package projector

import (
	"time"

	"github.com/stenohq/steno/internal/eventlog"
	"github.com/stenohq/steno/internal/statestore"
	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/fold"
	"github.com/stenohq/steno/pkg/reducer"
)

// key names an agent log.
type key struct {
	session events.SessionID
	agent   events.AgentID
}

// agent is one agent as its worker holds it.
type agent struct {
	key
	session *session

	// fold is nil while the agent is refolded: then records are only counted,
	// since the refold reads them from the log.
	fold *fold.Agent
	seen uint64 // stream sequence of the last record met

	// revs and size are of the state as it is saved, see stored; saved is when.
	revs  [3]statestore.Rev
	size  int
	saved time.Time
	free  int // what is left of freely

	// unsaved is the stream sequence of the first record that neither the saved
	// head nor one under way holds, 0 when there is none: the checkpoint stays
	// below it. committing is what unsaved was before the commit began, in case
	// it leaves the head out.
	unsaved    uint64
	committing uint64
	inCommit   bool

	since   time.Time // when unsaved was met
	events  int       // records and their bytes since the last head
	bytes   int
	urgent  bool // something happened that must not wait 2 s
	rewrite bool // a head is due though no record is unsaved
	touched time.Time
	stale   bool // the session has not these facts yet

	// tooLarge is the size of a state that did not fit, 0 when the last one
	// did: until it is smaller only its position is saved.
	tooLarge int
}

func newAgent(k key, now time.Time) *agent { return &agent{key: k, touched: now, free: freely} }

// foldRecord is a stored message as the fold sees it.
func foldRecord(r *eventlog.Record, seq uint64) fold.Record {
	rec := fold.Record{
		Kind: fold.Event, Seq: seq, SeqTo: seq, StreamSeq: r.StreamSeq,
		StoredAt: r.StoredAt.UnixMilli(), Data: r.Data,
	}
	if r.Lost || events.IsPlaceholder(r.Data) {
		rec.Kind = fold.Lost
	}
	return rec
}

// step folds one record.
func (a *agent) step(r *eventlog.Record, now time.Time) fold.Batch {
	a.note(r, now)
	b := a.fold.Step(foldRecord(r, a.fold.Seq()+1))
	a.urgent = a.urgent || urgent(b.Ops)
	return b
}

// note counts a record that the saved head does not hold.
func (a *agent) note(r *eventlog.Record, now time.Time) {
	if a.unsaved == 0 {
		a.unsaved, a.since = r.StreamSeq, now
	}
	a.seen = r.StreamSeq
	a.touched = now
	a.events++
	a.bytes += len(r.Data)
}

// due tells whether the agent's head is to be saved: something happened, and
// the bytes to write are in proportion to those that came in.
func (a *agent) due(l *Limits, now time.Time) bool {
	if a.inCommit || a.fold == nil || a.unsaved == 0 && !a.rewrite {
		return false
	}
	if a.rewrite {
		return true
	}
	if a.events < l.HeadEvents && !a.urgent && now.Sub(a.since) < l.HeadAge {
		return false
	}
	return a.bytes >= worth(a.size) || a.size <= a.free || now.Sub(a.saved) >= l.HeadForce
}

// freely is how many bytes of state are written for an agent as soon as there
// is something to save, before they have to be in proportion to its events: a
// short session is small, and somebody may wait for it.
const freely = 64 << 10

// worth is how many bytes of events a state of some size, with its memory and
// resume state, is written for. A third would do to write three bytes of state
// for one of events if the state stayed as it is; but it grows by more than
// what came in.
func worth(size int) int { return size * 3 / 5 }

// urgent tells whether operations end a turn, change what people wait for or
// start a tool.
func urgent(ops []reducer.Op) bool {
	for i := range ops {
		switch op := &ops[i]; op.Kind {
		case reducer.OpInteractionUpsert:
			return true
		case reducer.OpTurnUpsert:
			if s := op.Turn.State; s != reducer.TurnRunning && s != reducer.TurnQueued {
				return true
			}
		case reducer.OpFrameUpsert:
			if f := op.Frame; f.Kind == reducer.FrameTool && f.State == reducer.ToolRunning && f.Input != "" && f.Progress == nil {
				return true
			}
		default:
		}
	}
	return false
}

// changesState tells whether operations can change a session's state as the
// session list shows it.
func changesState(ops []reducer.Op) bool {
	for i := range ops {
		switch ops[i].Kind {
		case reducer.OpInteractionUpsert, reducer.OpTurnUpsert, reducer.OpItemsRemove, reducer.OpReset:
			return true
		default:
		}
	}
	return false
}
