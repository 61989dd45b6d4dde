package projector

import (
	"context"
	"fmt"

	"github.com/stenohq/steno/internal/slots"
	"github.com/stenohq/steno/internal/statestore"
	"github.com/stenohq/steno/pkg/fold"
)

// stored is an agent's state as it is saved: three documents, which are always
// written together. A position stands in place of a head that is too large;
// then there are no others.
type stored struct {
	state fold.State
	revs  [3]statestore.Rev // in the order of prefixes
}

// prefixes are those of an agent's documents, in the order in which they are
// written and read.
func prefixes() [3]string {
	return [...]string{statestore.PrefixHead, statestore.PrefixMemory, statestore.PrefixResume}
}

// size counts the bytes of a state.
func size(s fold.State) int { return len(s.Head) + len(s.Memory) + len(s.Resume) }

func (w *worker) docKey(prefix string, k key) string {
	return statestore.AgentKey(prefix, w.slot, k.session.Token(), k.agent.Token())
}

func (w *worker) headKey(k key) string { return w.docKey(statestore.PrefixHead, k) }

// load reads the documents of an agent; what there is none of is empty. An
// agent whose head was never written has no others.
func (w *worker) load(ctx context.Context, k key) (stored, error) {
	var s stored
	var docs [3][]byte
	for i, prefix := range prefixes() {
		entry, err := w.get(ctx, w.docKey(prefix, k))
		if err != nil {
			return s, err
		}
		docs[i], s.revs[i] = entry.Value, entry.Rev
		if i == 0 && entry.Rev == nil {
			break
		}
	}
	s.state = fold.State{Head: docs[0], Memory: docs[1], Resume: docs[2]}
	return s, nil
}

// decode continues the fold that was saved. Where a document is missing, or
// they do not belong together, the fold is made again from the log.
func (s *stored) decode(k key) (*fold.Agent, error) {
	if len(s.state.Memory) == 0 && len(s.state.Resume) == 0 && len(s.state.Head) > 0 {
		// Alone a head would be continued without what is folded beside it.
		return nil, fmt.Errorf("agent %s of session %s has neither session memory nor resume state: %w", k.agent, k.session, fold.ErrCorrupt)
	}
	return fold.Decode(k.session, k.agent, s.state)
}

// group writes a state in place of what is saved. What it lacks is deleted.
func (w *worker) group(a *agent, s fold.State) slots.Group {
	g := slots.Group{Writes: make([]statestore.Write, 0, len(a.revs))}
	docs := [...][]byte{s.Head, s.Memory, s.Resume}
	for i, prefix := range prefixes() {
		g.Writes = append(g.Writes, statestore.Write{Key: w.docKey(prefix, a.key), Value: docs[i], Expect: a.revs[i]})
	}
	return g
}
