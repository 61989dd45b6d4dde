package gateway

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/stenohq/steno/internal/archive"
	"github.com/stenohq/steno/pkg/fold"
)

// errTrimmed: neither archive nor stream reaches back to the log's start.
var errTrimmed = errors.New("the log's beginning is no longer stored")

// records yields the agent log behind seq after, as far as it is stored now:
// the archive's lines, then what the stream holds beyond them. A record's Data
// is valid until the next one.
func (f *feed) records(ctx context.Context, after uint64) iter.Seq2[fold.Record, error] {
	return func(yield func(fold.Record, error) bool) {
		if at, ok := f.streamSeqAt(after); ok {
			f.streamRecords(ctx, after, at, 0, yield)
			return
		}
		last, more, err := f.archived(ctx, after, yield)
		switch {
		case !more:
			return
		case err != nil:
			yield(fold.Record{}, err)
			return
		case last.Seq == 0:
			if err := f.reachesBack(ctx); err != nil {
				yield(fold.Record{}, err)
				return
			}
		}
		f.streamRecords(ctx, last.Seq, last.StreamSeq, after, yield)
	}
}

// continued yields the records behind what a fold has reached.
func (f *feed) continued(ctx context.Context, agent *fold.Agent) iter.Seq2[fold.Record, error] {
	return func(yield func(fold.Record, error) bool) {
		f.streamRecords(ctx, agent.Seq(), agent.StreamSeq(), 0, yield)
	}
}

// archived yields the archive's lines behind after and returns the last line
// there is; more is false when the consumer has stopped.
func (f *feed) archived(ctx context.Context, after uint64, yield func(fold.Record, error) bool) (last fold.Record, more bool, err error) {
	if f.src.archive == nil {
		return last, true, nil
	}
	from := after
	for {
		for line, err := range f.src.archive.Read(ctx, f.session, f.agent, from) {
			if errors.Is(err, archive.ErrNotFound) {
				return last, true, nil
			}
			if err != nil {
				return last, true, fmt.Errorf("read archive of %s/%s: %w", f.session, f.agent, err)
			}
			rec := lineRecord(line)
			last = fold.Record{Seq: rec.SeqTo, StreamSeq: rec.StreamSeq}
			if rec.SeqTo > after && !yield(rec, nil) {
				return last, false, nil
			}
		}
		if last.Seq > 0 || from == 0 {
			return last, true, nil
		}
		from = 0 // the archive ends at or before after: its last line says where to go on
	}
}

func lineRecord(l archive.Line) fold.Record {
	return fold.Record{
		Kind: fold.Kind(l.Kind), Seq: l.Seq, SeqTo: l.SeqTo, StreamSeq: l.StreamSeq,
		StoredAt: l.StoredAt, Data: l.Data, Reason: l.Reason,
	}
}

// streamRecords yields the stream's records behind stream sequence at, which
// has the ordinal seq, as far as their ordinal is above after.
func (f *feed) streamRecords(ctx context.Context, seq, at, after uint64, yield func(fold.Record, error) bool) {
	for {
		recs, err := f.src.log.Range(ctx, f.session, f.agent, at, rangeLimit)
		if err != nil {
			yield(fold.Record{}, fmt.Errorf("read %s/%s behind stream sequence %d: %w", f.session, f.agent, at, err))
			return
		}
		for i := range recs {
			seq++
			at = recs[i].StreamSeq
			if seq > after && !yield(foldRecord(&recs[i], seq), nil) {
				return
			}
		}
		if len(recs) == 0 {
			return
		}
	}
}

// streamSeqAt is the stream sequence of a batch the ring still knows.
func (f *feed) streamSeqAt(seq uint64) (uint64, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch seq {
	case 0:
		return 0, false
	case f.fold.Seq():
		return f.fold.StreamSeq(), true
	}
	entries, ok := f.ring.after(seq - 1)
	if !ok || len(entries) == 0 || entries[0].batch.SeqTo != seq {
		return 0, false
	}
	return entries[0].batch.StreamSeq, true
}

// reachesBack tells whether the stream still holds this log's first message,
// as far as that can be known without an archive.
func (f *feed) reachesBack(ctx context.Context) error {
	f.mu.Lock()
	first := f.first
	f.mu.Unlock()
	var ok bool
	if first > 0 {
		recs, err := f.src.log.Range(ctx, f.session, f.agent, 0, 1)
		if err != nil {
			return fmt.Errorf("read the first record of %s/%s: %w", f.session, f.agent, err)
		}
		ok = len(recs) > 0 && recs[0].StreamSeq == first
	} else {
		b, err := f.src.log.Bounds(ctx, f.session.Slot(f.src.log.Slots()))
		if err != nil {
			return fmt.Errorf("read bounds of the stream of %s: %w", f.session, err)
		}
		ok = b.First <= 1
	}
	if !ok {
		return fmt.Errorf("%s/%s: %w", f.session, f.agent, errTrimmed)
	}
	return nil
}
