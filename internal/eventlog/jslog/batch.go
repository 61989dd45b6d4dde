package jslog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/stenohq/steno/internal/eventlog"
	"github.com/stenohq/steno/pkg/events"
)

const (
	pageRecords = 1000
	pageBytes   = 4 << 20
)

// errGap: messages of a page did not arrive, because the connection was lost.
var errGap = errors.New("part of a page is missing")

// Range implements eventlog.Log: direct batch gets, page by page. A page that
// did not arrive whole is asked for again from its last good record.
func (l *Log) Range(ctx context.Context, s events.SessionID, a events.AgentID, after uint64, limit int) ([]eventlog.Record, error) {
	var recs []eventlog.Record
	for broken := 0; len(recs) < limit; {
		page := page{log: l, session: s, agent: a, slot: s.Slot(l.cfg.Slots), after: after}
		more, err := page.fetch(ctx, min(limit-len(recs), pageRecords))
		recs = append(recs, page.recs...)
		if len(page.recs) > 0 {
			after, broken = page.after, 0
		}
		switch {
		case errors.Is(err, errGap) && broken < 3:
			broken++
		case err != nil:
			return nil, fmt.Errorf("read %s/%s from stream sequence %d: %w", s, a, after+1, readError(ctx, err))
		case !more:
			return recs, nil
		}
	}
	return recs, nil
}

// page is one batch get of one subject. orbit's jetstreamext is not used
// because its iterator ends alike at the end marker and at a timeout.
type page struct {
	log     *Log
	session events.SessionID
	agent   events.AgentID
	slot    int
	after   uint64 // stream sequence of the last record, or the start
	recs    []eventlog.Record
}

// fetch fills recs. more says that the server knows of records beyond them.
func (p *page) fetch(ctx context.Context, n int) (more bool, err error) {
	body, err := json.Marshal(getRequest{
		Seq: p.after + 1, NextFor: events.StoredSubject(p.slot, p.session, p.agent), Batch: n, MaxBytes: pageBytes,
	})
	if err != nil {
		return false, fmt.Errorf("encode the request: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	inbox := p.log.nc.NewRespInbox()
	sub, err := p.log.nc.SubscribeSync(inbox)
	if err != nil {
		return false, fmt.Errorf("subscribe to the answer: %w", err)
	}
	defer func() { _ = sub.Unsubscribe() }() // fails only on a closed connection
	if err := p.log.nc.PublishRequest(p.log.api+"DIRECT.GET."+p.log.stream(p.slot), inbox, body); err != nil {
		return false, fmt.Errorf("ask for a page: %w", err)
	}
	for first := true; ; first = false {
		m, err := sub.NextMsgWithContext(ctx)
		if err != nil {
			return false, err
		}
		if status := m.Header.Get("Status"); status != "" && len(m.Data) == 0 {
			return p.end(m, status)
		}
		if err := p.add(m, first); err != nil {
			return false, err
		}
	}
}

// end handles the message that closes a page. The end marker names the last
// sequence of the page, so a lost tail of it shows.
func (p *page) end(m *nats.Msg, status string) (more bool, err error) {
	switch status {
	case "204":
		if last := m.Header.Get("Nats-Last-Sequence"); len(p.recs) > 0 && last != strconv.FormatUint(p.after, 10) {
			return false, errGap
		}
		return m.Header.Get("Nats-Num-Pending") != "0", nil
	case "404":
		return false, nil
	case "503":
		return false, nats.ErrNoResponders
	default:
		return false, fmt.Errorf("the server refused: %s %s", status, m.Header.Get("Description"))
	}
}

// add takes one record. Each message names the one before it in the page, 0
// for the first.
func (p *page) add(m *nats.Msg, first bool) error {
	before, err1 := strconv.ParseUint(m.Header.Get("Nats-Last-Sequence"), 10, 64)
	seq, err2 := strconv.ParseUint(m.Header.Get("Nats-Sequence"), 10, 64)
	at, err3 := time.Parse(time.RFC3339Nano, m.Header.Get("Nats-Time-Stamp"))
	if err := errors.Join(err1, err2, err3); err != nil {
		return fmt.Errorf("headers of a record: %w", err)
	}
	if first && before != 0 || !first && before != p.after {
		return errGap
	}
	r := eventlog.Record{Session: p.session, Agent: p.agent, Slot: p.slot, StreamSeq: seq, StoredAt: at.UTC(), Data: m.Data}
	applyHeaders(&r, m.Header)
	p.recs = append(p.recs, r)
	p.after = seq
	return nil
}
