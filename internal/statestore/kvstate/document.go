package kvstate

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/stenohq/steno/internal/statestore"
)

// A document is one zstd frame, cut into pieces under <key>.0, <key>.1, …
// Every piece says which commit wrote it and how it fits in:
//
//	Steno-Piece: <commit id> <index> <pieces> <span>
//
// span is the number of subjects the document has ever used. Those from pieces
// on are delete markers; they are written with the pieces, so that the whole
// span belongs to one commit and its revision is complete. A deleted document
// has 0 pieces.
const pieceHeader = "Steno-Piece"

// mixedReads is how often a document that is being written is read again.
const mixedReads = 50

type piece struct {
	commit              string
	index, pieces, span int
}

func (p piece) String() string {
	return p.commit + " " + strconv.Itoa(p.index) + " " + strconv.Itoa(p.pieces) + " " + strconv.Itoa(p.span)
}

func parsePiece(h nats.Header) (piece, error) {
	value := h.Get(pieceHeader)
	fields := strings.Fields(value)
	if len(fields) != 4 {
		return piece{}, fmt.Errorf("header %s is %q: want commit, index, pieces and span", pieceHeader, value)
	}
	p := piece{commit: fields[0]}
	for i, to := range []*int{&p.index, &p.pieces, &p.span} {
		n, err := strconv.Atoi(fields[i+1])
		if err != nil || n < 0 || n > statestore.MaxMessages {
			return piece{}, fmt.Errorf("header %s is %q: field %d is no number of pieces", pieceHeader, value, i+1)
		}
		*to = n
	}
	if p.pieces > p.span || p.index >= p.span {
		return piece{}, fmt.Errorf("header %s is %q: it contradicts itself", pieceHeader, value)
	}
	return p, nil
}

// documentMessages are the messages of a write of a document.
func (s *Store) documentMessages(commit string, w statestore.Write) []*nats.Msg {
	var parts [][]byte
	if w.Value != nil {
		rest := s.enc.EncodeAll(w.Value, nil)
		for len(rest) > statestore.PieceSize {
			parts = append(parts, rest[:statestore.PieceSize])
			rest = rest[statestore.PieceSize:]
		}
		parts = append(parts, rest)
	}
	span := max(len(parts), len(w.Expect), 1)
	msgs := make([]*nats.Msg, span)
	for i := range span {
		var data []byte
		var last uint64
		if i < len(parts) {
			data = parts[i]
		}
		if i < len(w.Expect) {
			last = w.Expect[i]
		}
		msgs[i] = expecting(w.Key+"."+strconv.Itoa(i), data, last)
		msgs[i].Header.Set(pieceHeader, piece{commit, i, len(parts), span}.String())
		if i >= len(parts) {
			msgs[i].Header.Set(kvOperation, kvDelete)
		}
	}
	return msgs
}

// errMixed: the pieces at hand belong to several commits.
var errMixed = errors.New("document was being written while it was read")

func (s *Store) getDocument(ctx context.Context, key string) (statestore.Entry, error) {
	for attempt := 1; ; attempt++ {
		entry, err := s.readDocument(ctx, key)
		if !errors.Is(err, errMixed) || attempt == mixedReads {
			return entry, err
		}
		select {
		case <-ctx.Done():
			return entry, fmt.Errorf("get %s: %w", key, ctx.Err())
		case <-time.After(time.Duration(attempt) * time.Millisecond):
		}
	}
}

func (s *Store) readDocument(ctx context.Context, key string) (statestore.Entry, error) {
	entry := statestore.Entry{Key: key}
	first, err := s.lastMessage(ctx, subjectPrefix+key+".0")
	if err != nil {
		return entry, fmt.Errorf("get %s: %w", key, err)
	}
	p, err := parsePiece(first.header)
	if err != nil {
		return entry, fmt.Errorf("get %s: %w", key, err)
	}
	msgs := make([]stored, 1, p.span)
	msgs[0] = first
	for i := 1; i < p.span; i++ {
		m, err := s.lastMessage(ctx, subjectPrefix+key+"."+strconv.Itoa(i))
		if errors.Is(err, statestore.ErrNotFound) {
			return entry, fmt.Errorf("get %s: %w", key, errMixed)
		} else if err != nil {
			return entry, fmt.Errorf("get %s: %w", key, err)
		}
		msgs = append(msgs, m)
	}
	return s.assemble(key, msgs)
}

// assemble joins the messages of a document's span, in order of their index.
func (s *Store) assemble(key string, msgs []stored) (statestore.Entry, error) {
	entry := statestore.Entry{Key: key}
	var frame []byte
	var first piece
	for i, m := range msgs {
		p, err := parsePiece(m.header)
		if err != nil {
			return entry, fmt.Errorf("get %s, piece %d: %w", key, i, err)
		}
		if i == 0 {
			first = p
		}
		if p != (piece{first.commit, i, first.pieces, first.span}) {
			return entry, fmt.Errorf("get %s: %w", key, errMixed)
		}
		entry.Rev = append(entry.Rev, m.seq)
		if i < p.pieces {
			frame = append(frame, m.data...)
		}
	}
	if first.span != len(msgs) {
		return entry, fmt.Errorf("get %s: %w", key, errMixed)
	}
	if first.pieces == 0 {
		return entry, fmt.Errorf("get %s: %w", key, statestore.ErrNotFound)
	}
	value, err := s.dec.DecodeAll(frame, []byte{})
	if err != nil {
		return entry, fmt.Errorf("get %s: decompress: %w", key, err)
	}
	entry.Value = value
	return entry, nil
}
