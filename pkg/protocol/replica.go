package protocol

import "github.com/stenohq/steno/pkg/reducer"

// Replica is a client's copy of one agent's transcript. It follows the client
// rule: a batch at or below the watermark is ignored, one whose predecessor is
// at or below the watermark is applied and moves it, and only a predecessor
// above the watermark means that something was lost. While older pages are
// being fetched live batches wait, so that page and state can be merged.
//
// One goroutine uses a Replica at a time.
type Replica struct {
	transcript *reducer.Transcript
	epoch      string
	seq        uint64
	ready      bool // a baseline has come
	lost       bool // a gap: batches wait for a reset or a catch-up
	fetching   int
	waiting    []Batch
	bytes      int
	healed     uint64 // gaps in batches up to here are made good by the page they belong to
}

// Outcome says what a Replica did with what it was given.
type Outcome int

// The outcomes.
const (
	Applied Outcome = iota // taken in
	Ignored                // known already, or older than the state held
	Waiting                // kept until the fetch ends
	Lost                   // something is missing: catch up from Seq if that is possible, else load a baseline
)

// maxWaiting bounds what waits for a fetch, in bytes of text and operations; a
// replica that would hold more is Lost.
const maxWaiting = 16 << 20

// NewReplica returns an empty replica. It needs a baseline first.
func NewReplica(agentID string) *Replica {
	return &Replica{transcript: reducer.NewTranscript(agentID)}
}

// Seq returns the watermark: every batch up to it is in the state.
func (r *Replica) Seq() uint64 { return r.seq }

// Epoch returns the numbering that Seq belongs to.
func (r *Replica) Epoch() string { return r.epoch }

// Ready reports whether the state is one: a baseline came and nothing is lost.
func (r *Replica) Ready() bool { return r.ready && !r.lost }

// Transcript returns the state. Whoever changes it breaks the replica.
func (r *Replica) Transcript() *reducer.Transcript { return r.transcript }

// Reset takes a baseline, which may be a page of the newest turns. One of the
// same epoch that is older than the state is ignored.
func (r *Replica) Reset(m *Reset) Outcome {
	if r.ready && m.Epoch == r.epoch && m.Seq < r.seq {
		return Ignored
	}
	if m.Epoch != r.epoch {
		r.drop()
	}
	op := reducer.Op{Kind: reducer.OpReset, AgentID: m.AgentID, Snapshot: m.Snapshot}
	r.transcript.Apply([]reducer.Op{op})
	r.epoch, r.seq, r.ready, r.lost, r.healed = m.Epoch, m.Seq, true, false, 0
	if r.fetching > 0 {
		return Applied
	}
	if r.drain() == Lost {
		return Lost
	}
	return Applied
}

// Ops takes a live batch.
func (r *Replica) Ops(m *Ops) Outcome {
	switch {
	case !r.ready || m.Epoch != r.epoch:
		return Lost // a baseline comes or has to be asked for
	case m.Seq <= r.seq:
		return Ignored
	case r.fetching > 0 || r.lost:
		if !r.wait(m.Batch) {
			r.lost = true
			r.drop()
			return Lost
		}
		if r.lost {
			return Lost
		}
		return Waiting
	}
	return r.follow(&m.Batch)
}

// CatchUp takes the answer to a question for the batches behind Seq.
func (r *Replica) CatchUp(c *CatchUp) Outcome {
	if !c.Complete || c.Epoch != r.epoch || !r.ready {
		return Lost
	}
	r.lost = false
	out := Ignored
	for i := range c.Batches {
		switch r.follow(&c.Batches[i]) {
		case Applied:
			out = Applied
		case Lost:
			return Lost
		case Ignored, Waiting:
		}
	}
	if c.HasMore || r.fetching > 0 {
		return out
	}
	if r.drain() == Lost {
		return Lost
	}
	return out
}

// BeginFetch announces that a page is being asked for and returns the min_seq
// to ask with. Each call is followed by one EndFetch.
func (r *Replica) BeginFetch() (minSeq uint64) {
	r.fetching++
	return r.seq
}

// EndFetch takes the older page that was asked for, nil when the question
// failed. Batches that waited are applied when no other fetch is under way.
// sameTurn says that the page holds older steps of one turn.
func (r *Replica) EndFetch(p *Page, sameTurn bool) Outcome {
	r.fetching = max(r.fetching-1, 0)
	out := Ignored
	if p != nil && r.ready && p.Epoch == r.epoch && p.Seq >= r.seq {
		more := p.HasMore
		if sameTurn {
			more = r.transcript.HasMoreOlder()
		}
		r.transcript.LoadOlder(p.Snapshot, more)
		r.healed = max(r.healed, p.Seq)
		out = Applied
	}
	if r.fetching == 0 && r.drain() == Lost {
		return Lost
	}
	return out
}

// follow applies a batch by the client rule.
func (r *Replica) follow(b *Batch) Outcome {
	switch {
	case b.Seq <= r.seq:
		return Ignored
	case b.PrevSeq > r.seq:
		r.lost = true
		r.wait(*b)
		return Lost
	}
	res := r.transcript.Apply(b.Ops)
	r.seq = b.Seq
	if res.Gap != nil && b.Seq > r.healed && !unloaded(res.Gap) {
		// The state differs from the server's; only a baseline mends that.
		r.ready = false
		r.drop()
		return Lost
	}
	return Applied
}

// unloaded reports an append to a task that the state does not hold: baselines
// carry no ended task that nothing refers to.
func unloaded(g *reducer.Gap) bool { return g.Target.TaskID != "" && g.Expected == 0 }

// drain applies what waited.
func (r *Replica) drain() Outcome {
	waiting := r.waiting
	r.drop()
	for i := range waiting {
		if r.follow(&waiting[i]) == Lost {
			for _, b := range waiting[i+1:] {
				r.wait(b)
			}
			return Lost
		}
	}
	return Applied
}

// wait keeps a batch; false when too much waits already.
func (r *Replica) wait(b Batch) bool {
	r.bytes += 64
	for i := range b.Ops {
		r.bytes += opSize(&b.Ops[i])
	}
	if r.bytes > maxWaiting {
		return false
	}
	r.waiting = append(r.waiting, b)
	return true
}

func opSize(op *reducer.Op) int {
	n := 320 + len(op.Text)
	if f := op.Frame; f != nil {
		n += len(f.Text) + len(f.InputText.V) + len(f.Input) + len(f.Output) + len(f.Display)
	}
	if t := op.Task; t != nil {
		n += len(t.OutputTail)
	}
	return n
}

func (r *Replica) drop() { r.waiting, r.bytes = nil, 0 }
