// Package admit decides which stored messages of an agent log enter the tree:
// a go-back-N receiver for each run, so that doubles, disorder and late
// resends by publishers do no harm. It is a function of the log alone, with
// small bounded state, no clock and no buffer.
//
// Every stored message is given to exactly one of Admit, Invalid and Lost, in
// log order.
package admit

import "github.com/stenohq/steno/pkg/events"

// The bounds of the state.
const (
	MaxRuns     = 256  // runs remembered
	MaxWaiting  = 16   // runs remembered of which nothing was admitted yet
	MaxRanges   = 8    // closed holes remembered for each run
	MaxAhead    = 4096 // the message ahead that closes a hole
	MaxCasual   = 1024 // ids remembered of events without n
	MaxAdmitted = 256  // ids remembered of the current run's events with n
)

// Outcome is what becomes of a message.
type Outcome int

// The outcomes. Only an admitted message enters tree, memory and resume; the
// others have an empty batch.
const (
	Admitted Outcome = iota
	Double           // the log has it already
	Ahead            // its publisher will send it again, behind the missing ones
)

// Decision is what Admit and Invalid return.
type Decision struct {
	Outcome  Outcome
	Conflict bool // Double: another event was admitted under this n; two writers share the run

	// The rest is set on admitted messages only.

	Run       string // the run it counts under in resume and memory: its source's where the run is an import
	NewRun    bool   // it begins a run that takes over from Former
	NewSource bool   // it begins another source run, within an import, after Former
	Former    string // the run, or source run, that it ends; empty when there was none
	Late      bool   // it belongs to an older run: it only raises that run's notice and settles its tool calls

	Notices []Notice // seldom any; in the order they arose
}

// NoticeKind says what a notice is about.
type NoticeKind int

// The kinds of notices.
const (
	TwoWriters NoticeKind = iota + 1 // Count events of Run were other ones than those admitted under their n
	HoleClosed                       // From to To of Run never came; if they come yet, they are admitted then
	LeftAhead                        // Run was left while messages between From and To were stored, but not admitted
	AfterLoss                        // From to To of Run may have been among lost messages
	LateRun                          // Count events of the older Run came after it was followed by another
)

// Notice is something a reader of the transcript should know. A kind and run
// name one marker; a later notice of both raises its count. Counts are
// reported at 1, 2, 4, 8 …
type Notice struct {
	Kind     NoticeKind
	Run      string
	From, To uint64 // ordinals, inclusive; 0 when the kind has none
	Count    uint64
}

// Admit decides about a valid event with the given seq.
func (s *State) Admit(seq uint64, ev *events.Event) Decision {
	m := message{run: ev.RunID, n: ev.N, id: ev.ID, source: ev.SourceRun, event: true}
	if ev.RunID == "" {
		m.n = 0
	}
	if m.n == 0 {
		return s.casual(seq, m)
	}
	return s.counted(m)
}

// Invalid decides about a stored message that is no valid event, by the run
// id and n that events.Salvage found in it (n 0: none). It takes its place in
// its run, but begins none.
func (s *State) Invalid(runID string, n uint64) Decision {
	if runID == "" || n == 0 {
		return Decision{}
	}
	return s.counted(message{run: runID, n: n})
}

// Lost records that messages of the log are lost for good.
func (s *State) Lost() {
	s.anyStart = true
	for _, r := range s.runs {
		r.afterLoss = true
	}
	for _, r := range s.waiting {
		r.afterLoss = true
	}
}

// Current returns the id of the run that took over last, "" before any.
func (s *State) Current() string {
	if s.current == nil {
		return ""
	}
	return s.current.id
}

// Next answers what a publisher asks before it sends: the n that runID goes on
// with, the event id admitted under next-1 (when it had one), and the current
// run. An unknown run begins at 1.
func (s *State) Next(runID string) (next uint64, lastEventID, current string) {
	current = s.Current()
	if r := s.find(runID); r != nil {
		return r.next, string(r.lastID), current
	}
	return 1, "", current
}
