package projector

import (
	"context"
	"fmt"

	"github.com/stenohq/steno/internal/eventlog"
	"github.com/stenohq/steno/internal/slots"
	"github.com/stenohq/steno/internal/statestore"
	"github.com/stenohq/steno/pkg/fold"
)

// open checks the stream against the checkpoint and decides where to begin.
func (w *worker) open(ctx context.Context) error {
	var bounds eventlog.Bounds
	err := w.retry(ctx, "bounds of the stream", func() (err error) {
		bounds, err = w.events.Bounds(ctx, w.slot)
		return err
	})
	if err != nil {
		return err
	}
	w.stream, w.first = bounds.Stream, bounds.First
	w.ckpt = w.owned.Checkpoint()
	w.foldVersion = w.ckpt.Fold
	if w.ckpt.Created.IsZero() {
		w.foldVersion = fold.Version // there are no heads
	} else if w.ckpt.Stream != w.stream.Name || !w.ckpt.Created.Equal(w.stream.Created) {
		w.log.Warn("stream was made anew: the slot is projected again", "stream", w.stream.Name)
		if err := w.forgetHeads(ctx); err != nil {
			return err
		}
	}
	if w.ckpt.StreamSeq > bounds.Last {
		return fmt.Errorf("the checkpoint is at %d, but stream %s ends at %d: the stream has lost messages; repair it from the archive", w.ckpt.StreamSeq, w.stream.Name, bounds.Last)
	}
	if w.ckpt.StreamSeq+1 < w.first {
		if err := w.trimmed(ctx); err != nil {
			return err
		}
	}
	w.pos = w.ckpt.StreamSeq
	w.fromStart = w.pos+1 <= w.first
	return nil
}

// trimmed accepts that the stream begins behind the checkpoint when a trim
// record says so.
func (w *worker) trimmed(ctx context.Context) error {
	record, err := w.get(ctx, "trim."+w.stream.Name)
	if err != nil {
		return err
	}
	if record.Value == nil {
		return fmt.Errorf("stream %s begins at %d, but the checkpoint is at %d and nothing was trimmed: messages are missing", w.stream.Name, w.first, w.ckpt.StreamSeq)
	}
	return nil
}

// forgetHeads deletes the slot's heads and what is saved beside them, which
// speak of positions in a stream that is no more, and then moves the checkpoint
// to the new one.
func (w *worker) forgetHeads(ctx context.Context) error {
	var groups []slots.Group
	for _, prefix := range prefixes() {
		prefix = fmt.Sprintf("%s.%d", prefix, w.slot)
		before := len(groups)
		err := w.retry(ctx, prefix, func() error {
			groups = groups[:before]
			for entry, err := range w.store.List(ctx, prefix) {
				if err != nil {
					return err
				}
				groups = append(groups, slots.Group{Writes: []statestore.Write{{Key: entry.Key, Expect: entry.Rev}}})
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	ckpt := slots.Checkpoint{Stream: w.stream.Name, Created: w.stream.Created, StreamSeq: w.first - 1, Fold: fold.Version}
	results, err := w.owned.Commit(ctx, groups, &ckpt)
	if err != nil {
		return err
	}
	for _, r := range results {
		if r.Err != nil {
			return r.Err
		}
	}
	w.ckpt, w.foldVersion = ckpt, fold.Version
	return nil
}

func (w *worker) tail(ctx context.Context) (eventlog.Tail, error) {
	var tail eventlog.Tail
	err := w.retry(ctx, "tail of the slot", func() (err error) {
		tail, err = w.events.Tail(ctx, w.slot, w.pos)
		return err
	})
	return tail, err
}
