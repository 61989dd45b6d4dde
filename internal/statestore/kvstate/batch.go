package kvstate

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"github.com/stenohq/steno/internal/statestore"
)

// The headers of an atomic batch. orbit's jetstreamext is not used here: it
// waits for the first message's answer before it sends the second, and of a
// refused batch it cannot tell the first message's reason from the last one's.
const (
	batchID     = "Nats-Batch-Id"
	batchSeq    = "Nats-Batch-Sequence"
	batchCommit = "Nats-Batch-Commit"
)

// batch is a commit as messages: one own message for each fence, then those of
// each write.
type batch struct {
	msgs []*nats.Msg
	span []int // number of messages of each write
}

func (s *Store) newBatch(c statestore.Commit) (batch, error) {
	b := batch{span: make([]int, len(c.Writes))}
	seen := make(map[string]struct{}, len(c.Fences)+len(c.Writes))
	add := func(key string, msgs ...*nats.Msg) error {
		if _, twice := seen[key]; twice {
			return fmt.Errorf("commit %s writes %s twice", c.ID, key)
		}
		seen[key] = struct{}{}
		b.msgs = append(b.msgs, msgs...)
		return nil
	}
	for _, f := range c.Fences {
		key := statestore.OwnKey(f.Role, f.Slot)
		msg := expecting(key, []byte(c.ID), f.Term)
		msg.Header.Set(jetstream.ExpectedLastSubjSeqSubjHeader, subjectPrefix+statestore.TermKey(f.Role, f.Slot))
		if err := add(key, msg); err != nil {
			return b, err
		}
	}
	for i, w := range c.Writes {
		msgs, err := s.messages(c.ID, w)
		if err != nil {
			return b, err
		}
		b.span[i] = len(msgs)
		if err := add(w.Key, msgs...); err != nil {
			return b, err
		}
	}
	if len(b.msgs) == 0 {
		return b, fmt.Errorf("commit %s is empty", c.ID)
	}
	return b, s.checkSize(c.ID, b.msgs)
}

func (s *Store) messages(commit string, w statestore.Write) ([]*nats.Msg, error) {
	if !statestore.IsDocument(w.Key) {
		return []*nats.Msg{plainMessage(w)}, nil
	}
	if len(w.Value) > maxDocument {
		return nil, fmt.Errorf("commit %s, %s: %w: a document of %d bytes", commit, w.Key, statestore.ErrTooLarge, len(w.Value))
	}
	return s.documentMessages(commit, w), nil
}

func (s *Store) checkSize(id string, msgs []*nats.Msg) error {
	var total int64
	for _, m := range msgs {
		n := size(m)
		if n > s.maxPayload() {
			return fmt.Errorf("commit %s, %s: %w: a message of %d bytes", id, m.Subject, statestore.ErrTooLarge, n)
		}
		total += n
	}
	if total > statestore.MaxBytes || len(msgs) > statestore.MaxMessages {
		return fmt.Errorf("commit %s: %w: %d messages, %d bytes", id, statestore.ErrTooLarge, len(msgs), total)
	}
	return nil
}

// revs are the revisions of the writes when the batch's first message has
// sequence first.
func (b batch) revs(first uint64) []statestore.Rev {
	next := first + uint64(len(b.msgs))
	for _, n := range b.span {
		next -= uint64(n)
	}
	revs := make([]statestore.Rev, len(b.span))
	for i, n := range b.span {
		revs[i] = make(statestore.Rev, n)
		for j := range n {
			revs[i][j] = next
			next++
		}
	}
	return revs
}

// Apply sends one atomic batch.
func (s *Store) Apply(ctx context.Context, c statestore.Commit) ([]statestore.Rev, error) {
	b, err := s.newBatch(c)
	if err != nil {
		return nil, err
	}
	ctx, cancel := withTimeout(ctx)
	defer cancel()
	last, err := s.send(ctx, b.msgs)
	if errors.Is(err, statestore.ErrConflict) && s.anyTermMoved(ctx, c.Fences) {
		err = fmt.Errorf("%w: %w", statestore.ErrFenced, err)
	}
	if err != nil {
		return nil, fmt.Errorf("apply commit %s: %w", c.ID, err)
	}
	return b.revs(last - uint64(len(b.msgs)) + 1), nil
}

// anyTermMoved finds out why a batch was refused; the refusal does not say
// which of its messages was in conflict. The own messages come first, so a
// fenced batch is refused for its term, and a moved term never moves back.
func (s *Store) anyTermMoved(ctx context.Context, fences []statestore.Fence) bool {
	for _, f := range fences {
		e, err := s.Get(ctx, statestore.TermKey(f.Role, f.Slot))
		if err != nil && !errors.Is(err, statestore.ErrNotFound) {
			return false
		}
		if len(e.Rev) != 1 || e.Rev[0] != f.Term {
			return true
		}
	}
	return false
}

// send publishes the messages as one batch and returns the sequence of the
// last one. Each attempt is a batch of its own for the server: what is left of
// an unfinished one cannot spoil it, and the revisions refuse the second of two
// that arrive whole.
func (s *Store) send(ctx context.Context, msgs []*nats.Msg) (uint64, error) {
	inbox := s.nc.NewInbox()
	sub, err := s.nc.SubscribeSync(inbox + ".*")
	if err != nil {
		return 0, fmt.Errorf("%w: %w", statestore.ErrBusy, err)
	}
	defer func() { _ = sub.Unsubscribe() }() // an error means that the connection is gone

	id := nuid.Next()
	first, commit := inbox+".first", inbox+".commit"
	for i, m := range msgs {
		m.Header.Set(batchID, id)
		m.Header.Set(batchSeq, strconv.Itoa(i+1))
		switch i {
		case len(msgs) - 1:
			m.Header.Set(batchCommit, "1")
			m.Reply = commit
		case 0:
			m.Reply = first
		}
		if err := s.nc.PublishMsg(m); err != nil {
			// Without its commit message the batch comes to nothing.
			return 0, fmt.Errorf("%w: %w", statestore.ErrBusy, err)
		}
	}
	for {
		resp, err := sub.NextMsgWithContext(ctx)
		if err != nil {
			return 0, requestError(err)
		}
		if resp.Subject == first {
			if len(resp.Data) == 0 && resp.Header.Get("Status") == "" {
				continue // staged
			}
			if _, err := parseAck(resp); err != nil {
				return 0, err // not even begun
			}
			continue
		}
		ack, err := parseAck(resp)
		if err == nil && ack.Count != len(msgs) {
			err = fmt.Errorf("%w: acknowledged %d of %d messages", statestore.ErrAmbiguous, ack.Count, len(msgs))
		}
		return ack.Seq, err
	}
}

// Outcome tells what became of a commit.
func (s *Store) Outcome(ctx context.Context, c statestore.Commit) ([]statestore.Rev, bool, error) {
	if len(c.Fences) == 0 {
		return nil, false, fmt.Errorf("outcome of commit %s: it has no fence", c.ID)
	}
	for i, f := range c.Fences {
		own, err := s.Get(ctx, statestore.OwnKey(f.Role, f.Slot))
		if errors.Is(err, statestore.ErrNotFound) {
			continue
		} else if err != nil {
			return nil, false, fmt.Errorf("outcome of commit %s: %w", c.ID, err)
		}
		if string(own.Value) != c.ID {
			continue
		}
		b, err := s.newBatch(c)
		if err != nil {
			return nil, false, err
		}
		return b.revs(own.Rev[0] - uint64(i)), true, nil
	}
	return nil, false, nil
}
