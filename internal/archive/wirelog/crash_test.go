package wirelog_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/stenohq/steno/internal/archive"
	"github.com/stenohq/steno/internal/archive/wirelog"
	"github.com/stenohq/steno/internal/archive/wirelog/crashfs"
	"github.com/stenohq/steno/internal/eventlog"
	"github.com/stenohq/steno/pkg/events"
)

const (
	session = events.SessionID("s-1")
	epoch   = "abcdefghijklmnop"
)

var stream = eventlog.StreamID{Name: "STENO_EVENTS_0", Created: time.UnixMilli(1700000000000)}

// truth is the stream: what is stored for each agent, for ever.
type truth struct {
	msgs map[events.AgentID][]wirelog.Message
	next uint64
}

func (tr *truth) store(a events.AgentID, data []byte) wirelog.Message {
	tr.next++
	m := wirelog.Message{StreamSeq: tr.next, StoredAt: 1700000000000 + int64(tr.next), Data: data}
	tr.msgs[a] = append(tr.msgs[a], m)
	return m
}

// refill is a wirelog.Source over the truth, of which the oldest are trimmed.
type refill struct {
	msgs    []wirelog.Message
	trimmed uint64 // seqs up to here are gone
}

// Refill numbers as the recorder does, which cannot see numbers in the stream:
// the last message inside the bounds is the last of the gap.
func (r refill) Refill(_ context.Context, g wirelog.Gap) iter.Seq2[wirelog.Message, error] {
	return func(yield func(wirelog.Message, error) bool) {
		if g.Before == 0 && (g.After > 0 || g.Seq > 1) {
			return
		}
		var left []wirelog.Message
		for i, m := range r.msgs {
			if uint64(i) >= r.trimmed && m.StreamSeq > g.After && (g.Before == 0 || m.StreamSeq < g.Before) {
				left = append(left, m)
			}
		}
		missing := int(g.SeqTo - g.Seq + 1)
		if len(left) > missing {
			if g.After > 0 || g.Seq == 1 {
				yield(wirelog.Message{}, fmt.Errorf("%d messages in the gap %+v", len(left), g))
				return
			}
			left = left[len(left)-missing:]
		}
		for i, m := range left {
			m.Seq = g.SeqTo - uint64(len(left)-1-i)
			if !yield(m, nil) {
				return
			}
		}
	}
}

// machine is a recorder reduced to its use of wirelog: it records the truth,
// commits anchors, and dies.
type machine struct {
	t       *rapid.T
	fs      *crashfs.FS
	dir     *wirelog.Dir
	truth   *truth
	anchors map[events.AgentID]wirelog.Anchor
	open    map[events.AgentID]*wirelog.Agent
	opts    wirelog.Options
}

func (m *machine) start() {
	for {
		var err error
		if m.dir, err = wirelog.OpenDirFS(m.fs, m.opts); err == nil {
			break
		}
		m.mayFail(err)
	}
	m.open = map[events.AgentID]*wirelog.Agent{}
}

// mayFail ends the test unless the error was injected.
func (m *machine) mayFail(err error) {
	if !errors.Is(err, crashfs.ErrInjected) && !errors.Is(err, crashfs.ErrKilled) && !errors.Is(err, wirelog.ErrDiskFull) {
		m.t.Fatalf("unexpected: %v", err)
	}
	if m.fs.Dead() {
		m.fs.Restart()
	}
}

func (m *machine) agent(a events.AgentID, distrust uint64) (*wirelog.Agent, error) {
	req := wirelog.OpenRequest{
		Session: session, Agent: a, Epoch: epoch, Stream: stream, Distrust: distrust,
		Source: refill{msgs: m.truth.msgs[a]},
	}
	if anchor, ok := m.anchors[a]; ok {
		req.Anchor = &anchor
	}
	ag, report, err := m.dir.Open(context.Background(), req)
	if report.Lost+report.Refilled > 0 {
		m.t.Fatalf("lines that were made durable are gone: %+v", report)
	}
	return ag, err
}

// record brings every agent up to date, or fails on the way.
func (m *machine) record() error {
	var dirty []*wirelog.Agent
	for _, a := range slices.Sorted(maps.Keys(m.truth.msgs)) {
		msgs := m.truth.msgs[a]
		var distrust uint64
		for {
			var err error
			ag := m.open[a]
			if ag == nil {
				if ag, err = m.agent(a, distrust); err != nil {
					return err
				}
				m.open[a] = ag
			}
			var differs *wirelog.DiffersError
			if err = addAll(ag, msgs, m.anchors[a].StreamSeq); errors.As(err, &differs) {
				distrust = differs.Seq
				delete(m.open, a)
				if err := m.dir.Release(context.Background(), []*wirelog.Agent{ag}); err != nil {
					return err
				}
				continue
			}
			if err != nil {
				return err
			}
			dirty = append(dirty, ag)
			break
		}
	}
	return m.dir.Commit(context.Background(), dirty)
}

func addAll(ag *wirelog.Agent, msgs []wirelog.Message, after uint64) error {
	for _, msg := range msgs {
		if msg.StreamSeq <= after {
			continue
		}
		if _, err := ag.Add(msg); err != nil {
			return err
		}
	}
	return nil
}

// anchor commits what is durable.
func (m *machine) anchor() {
	for a, ag := range m.open {
		if mark := ag.Mark(); mark.Seq > 0 {
			m.anchors[a] = mark
		}
	}
}

// verify reads everything back.
func (m *machine) verify() {
	r := wirelog.NewReaderFS(m.fs)
	for a, msgs := range m.truth.msgs {
		i := 0
		for line, err := range r.Read(context.Background(), session, a, 0) {
			if err != nil {
				m.t.Fatalf("read: %v", err)
			}
			if i >= len(msgs) {
				m.t.Fatalf("agent %s: line %d that was never stored", a, line.Seq)
			}
			want := msgs[i]
			if line.Kind == archive.Lost || line.Seq != uint64(i)+1 || line.StreamSeq != want.StreamSeq ||
				line.StoredAt != want.StoredAt || string(line.Data) != string(want.Data) {
				m.t.Fatalf("agent %s: line %+v (%s), want message %d: %+v (%s)", a, line, line.Data, i+1, want, want.Data)
			}
			i++
		}
		if i != len(msgs) {
			m.t.Fatalf("agent %s: %d lines of %d messages", a, i, len(msgs))
		}
		for f, err := range r.Verify(context.Background(), session, a) {
			if err != nil {
				m.t.Fatalf("verify: %v", err)
			}
			for _, n := range m.fs.Names() {
				m.t.Logf("%s:\n%s", n, m.fs.Bytes(n))
			}
			m.t.Fatalf("agent %s: finding %+v", a, f)
		}
	}
}

// After any crash, failed sync, full disk and restart every stored message is
// in the archive once, in order, and the chain holds.
func TestCrashes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := &machine{
			t: t, fs: crashfs.New(rapid.Uint64().Draw(t, "seed")),
			truth:   &truth{msgs: map[events.AgentID][]wirelog.Message{}},
			anchors: map[events.AgentID]wirelog.Anchor{},
			opts:    wirelog.Options{Delay: -1, MaxOpen: 2, PartSize: 3000},
		}
		m.start()
		defer func() { m.dir.Close() }()
		steps := rapid.IntRange(1, 40).Draw(t, "steps")
		for range steps {
			switch rapid.IntRange(0, 9).Draw(t, "step") {
			case 0:
				m.fs.KillIn(rapid.Int64Range(1, 4000).Draw(t, "kill in"))
			case 1:
				m.dir.Close()
				m.fs.Crash()
				m.start()
			case 2:
				m.dir.Close()
				m.fs.Restart()
				m.start()
			case 3:
				m.fs.FailSyncs(rapid.IntRange(1, 3).Draw(t, "failing syncs"))
			case 4:
				m.fs.SetCapacity(rapid.Int64Range(1, 30000).Draw(t, "capacity"))
			case 5:
				m.fs.SetCapacity(0)
			case 6:
				m.anchor()
			default:
				for range rapid.IntRange(1, 6).Draw(t, "messages") {
					a := events.AgentID(fmt.Sprintf("a%d", rapid.IntRange(0, 3).Draw(t, "agent")))
					m.truth.store(a, drawData(t))
				}
				if err := m.record(); err != nil {
					m.recover(err, rapid.Bool().Draw(t, "power"))
				}
			}
		}
		m.fs.SetCapacity(0)
		m.fs.FailSyncs(0)
		for err := m.record(); err != nil; err = m.record() {
			m.recover(err, true)
		}
		m.fs.KillIn(0)
		m.verify()
	})
}

// recover goes on after a failure as a recorder does: a process that was
// killed is started again, anything else is tried again.
func (m *machine) recover(err error, power bool) {
	dead := m.fs.Dead()
	if !dead && errors.Is(err, wirelog.ErrChanged) {
		m.open = map[events.AgentID]*wirelog.Agent{}
		return
	}
	m.mayFail(err)
	if !dead {
		return
	}
	m.dir.Close()
	if power {
		m.fs.Crash()
	}
	m.start()
}

func drawData(t *rapid.T) []byte {
	switch rapid.IntRange(0, 7).Draw(t, "data") {
	case 0:
		return rapid.SliceOfN(rapid.Byte(), 0, 60).Draw(t, "bytes")
	case 1:
		return []byte("{\"event_type\":\"x\",\n\"payload\":{}}")
	}
	return fmt.Appendf(nil, `{"event_type":"assistant.delta","payload":{"delta":%q}}`,
		rapid.StringMatching(`[a-z ]{0,120}`).Draw(t, "text"))
}

func asDiffers(err error, target **wirelog.DiffersError) bool { return errors.As(err, target) }
