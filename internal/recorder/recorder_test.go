package recorder_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stenohq/steno/internal/archive"
	"github.com/stenohq/steno/internal/archive/wirelog"
	"github.com/stenohq/steno/internal/eventlog"
	"github.com/stenohq/steno/internal/statestore"
	"github.com/stenohq/steno/internal/statestore/memstate"
	"github.com/stenohq/steno/pkg/events"
)

const (
	sess = events.SessionID("s-0")
	file = "sessions/s-0/agents/main/wire.jsonl"
)

// inWorld runs f in a bubble with a world without faults.
func inWorld(t *testing.T, f func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		defer func() { w.reap() }()
		f(t, w)
	})
}

func (w *world) publishN(from, to int) {
	for i := from; i <= to; i++ {
		w.publish(sess, events.MainAgent, fmt.Appendf(nil, `{"event_type":"x","payload":{"n":%d}}`, i))
	}
}

// kinds outlines the archive of the main agent: "e1 l2-4 i5".
func (w *world) kinds() string {
	var out []string
	for line, err := range wirelog.NewReaderFS(w.fs).Read(w.ctx(), sess, events.MainAgent, 0) {
		if err != nil {
			return err.Error()
		}
		switch line.Kind {
		case archive.Event:
			out = append(out, fmt.Sprintf("e%d", line.Seq))
		case archive.Invalid:
			out = append(out, fmt.Sprintf("i%d", line.Seq))
		case archive.Lost:
			out = append(out, fmt.Sprintf("l%d-%d", line.Seq, line.SeqTo))
		}
	}
	return strings.Join(out, " ")
}

func TestInvalidAndPlaceholders(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		w.startUntilUp()
		w.publishN(1, 1)
		w.publish(sess, events.MainAgent, []byte(`{"event_type":"x","payload":{},"session_id":"other"}`))
		w.log.Put(eventlog.Record{Session: sess, Agent: events.MainAgent, StoredAt: time.Now(), Lost: true})
		w.publishN(4, 4)
		w.settle()
		if got := w.kinds(); got != "e1 i2 l3-3 e4" {
			t.Error(got)
		}
	})
}

// A full disk is said, holds up its slot and nothing else, and heals.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		w.startUntilUp()
		w.publishN(1, 3)
		w.settle()
		w.fs.SetCapacity(1)
		w.publishN(4, 500)
		time.Sleep(2 * time.Minute)
		if err := w.proc.svc.Ready(); !errors.Is(err, wirelog.ErrDiskFull) {
			t.Errorf("ready: %v", err)
		}
		e, err := w.store.Get(w.ctx(), statestore.CheckpointKey(statestore.RoleRecorder, sess.Slot(slotCount)))
		if err != nil || !strings.Contains(string(e.Value), `"stream_seq":3,`) {
			t.Errorf("checkpoint %s, %v", e.Value, err)
		}
		w.fs.SetCapacity(0)
		w.settle()
		w.verify()
	})
}

func TestStopsWithFullDisk(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		w.startUntilUp()
		w.publishN(1, 3)
		w.settle()
		w.fs.SetCapacity(1)
		w.publishN(4, 500)
		time.Sleep(time.Second)
		start := time.Now()
		w.stop()
		if took := time.Since(start); took > time.Second {
			t.Errorf("stopping took %v", took)
		}
		w.fs.SetCapacity(0)
		w.startUntilUp()
		w.settle()
		w.verify()
	})
}

// A store that is away holds nothing up but the saving of positions.
func TestStoreAway(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		w.startUntilUp()
		w.publishN(1, 3)
		w.settle()
		w.store.Inject(func(memstate.Op) memstate.Fault { return memstate.Unavailable })
		w.publishN(4, 50)
		time.Sleep(3 * time.Second)
		if got := w.kinds(); !strings.HasSuffix(got, "e50") {
			t.Errorf("recorded %s", got)
		}
		w.store.Inject(nil)
		w.settle()
		w.verify()
	})
}

func TestRefillsFromTheStream(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		damage func(w *world)
		trim   uint64
		lag    bool // a replica that is behind answers for a while
		want   string
	}{
		{"file is gone", func(w *world) { w.fs.Delete(file) }, 0, false, "e1 e2 e3 e4 e5 e6 e7 e8 e9 e10"},
		{"replica is behind", func(w *world) { w.fs.Delete(file) }, 0, true, "e1 e2 e3 e4 e5 e6 e7 e8 e9 e10"},
		{"file is gone, half is trimmed", func(w *world) { w.fs.Delete(file) }, 4, false, "l1-4 e5 e6 e7 e8 e9 e10"},
		{"file is gone, all is trimmed", func(w *world) { w.fs.Delete(file) }, 10, false, "l1-10"},
		{"lines are gone", func(w *world) { w.cut(3, 6) }, 0, false, "e1 e2 e3 e4 e5 e6 e7 e8 e9 e10"},
		{"lines are gone, some trimmed", func(w *world) { w.cut(3, 6) }, 4, false, "e1 e2 l3-4 e5 e6 e7 e8 e9 e10"},
		{"an altered stream_seq without a witness, too low", func(w *world) { w.alter(5, 3) }, 0, false, "e1 e2 e3 e4 e5 e6 e7 e8 e9 e10"},
		{"an altered stream_seq without a witness, too high", func(w *world) { w.alter(5, 6) }, 0, false, "e1 e2 e3 e4 e5 e6 e7 e8 e9 e10"},
		{"an altered stream_seq without a witness, some trimmed", func(w *world) { w.alter(5, 6) }, 5, false, "e1 e2 e3 l4-5 e6 e7 e8 e9 e10"},
		{"the end is gone", func(w *world) { w.cut(8, 10) }, 0, false, "e1 e2 e3 e4 e5 e6 e7 e8 e9 e10"},
		{"the end is gone and trimmed", func(w *world) { w.cut(8, 10) }, 10, false, "e1 e2 e3 e4 e5 e6 e7 l8-10"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, func(t *testing.T, w *world) {
				w.startUntilUp()
				w.publishN(1, 10)
				w.settle()
				w.stop()
				tt.damage(w)
				if tt.trim > 0 {
					w.log.Trim(tt.trim)
					w.noteTrim(t, tt.trim)
				}
				if tt.lag {
					w.log.SetRangeLag(6)
				}
				w.startUntilUp()
				w.publishN(11, 11)
				if tt.lag {
					time.Sleep(20 * time.Second)
					if got := w.kinds(); strings.Contains(got, "l") && !strings.Contains(got, "not in the archive") {
						t.Errorf("took a lagging answer for the truth: %s", got)
					}
					w.log.SetRangeLag(1 << 60)
				}
				w.settle()
				if got := w.kinds(); got != tt.want+" e11" {
					t.Errorf("got %s\nwant %s e11", got, tt.want)
				}
				for f, err := range wirelog.NewReaderFS(w.fs).Verify(w.ctx(), sess, events.MainAgent) {
					if err != nil || f.Damage() {
						t.Error(f, err)
					}
				}
			})
		})
	}
}

// cut removes the lines from..to of the archive.
func (w *world) cut(from, to int) {
	lines := strings.SplitAfter(string(w.fs.Bytes(file)), "\n")
	w.fs.SetBytes(file, []byte(strings.Join(append(lines[:from:from], lines[to+1:]...), "")))
}

// alter gives a line another stream_seq and removes the lines next to it.
func (w *world) alter(line, streamSeq int) {
	w.cut(line+1, line+1)
	lines := strings.SplitAfter(string(w.fs.Bytes(file)), "\n")
	lines[line] = strings.Replace(lines[line], fmt.Sprintf(`"stream_seq":%d,`, line), fmt.Sprintf(`"stream_seq":%d,`, streamSeq), 1)
	w.fs.SetBytes(file, []byte(strings.Join(lines, "")))
	w.cut(line-1, line-1)
}

// noteTrim says what was trimmed, as the trimmer does.
func (w *world) noteTrim(t *testing.T, upTo uint64) {
	t.Helper()
	b, err := w.log.Bounds(w.ctx(), 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.store.Put(w.ctx(), statestore.Write{
		Key: "trim." + b.Stream.Name, Value: fmt.Appendf(nil, `{"stream_seq":%d}`, upTo),
	}); err != nil {
		t.Fatal(err)
	}
}

// Messages that vanished without a record of it stop the slot, loudly.
func TestUnexplainedTrim(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		w.publishN(1, 5)
		w.log.Trim(2)
		w.startUntilUp()
		time.Sleep(time.Minute)
		err := w.proc.svc.Ready()
		if err == nil || !strings.Contains(err.Error(), "begins with 3") {
			t.Errorf("ready: %v", err)
		}
		if got := w.kinds(); !strings.Contains(got, "not in the archive") {
			t.Errorf("recorded %s", got)
		}
	})
}

// A stream that was made anew from the archive goes on with the same numbers.
func TestStreamMadeAnew(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		w.startUntilUp()
		w.publishN(1, 5)
		w.settle()
		w.log.Replace()
		time.Sleep(time.Second)
		w.publish("s-1", events.MainAgent, []byte(`{"event_type":"x","payload":{}}`)) // other stream sequences
		w.publishN(1, 8)
		w.settle()
		if got := w.kinds(); got != "e1 e2 e3 e4 e5 e6 e7 e8" {
			t.Error(got)
		}
		for f, err := range wirelog.NewReaderFS(w.fs).Verify(w.ctx(), sess, events.MainAgent) {
			t.Error(f, err)
		}
	})
}

// Many agents pass through a bounded memory.
func TestForgetsIdleAgents(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		w.startUntilUp()
		for round := range 3 {
			for i := range 40 {
				w.publish(sess, events.AgentID(fmt.Sprintf("a-%d", i)), fmt.Appendf(nil, `{"event_type":"x","payload":{"n":%d}}`, round))
				if i%5 == 0 {
					time.Sleep(1500 * time.Millisecond)
				}
			}
		}
		w.settle()
		w.verify()
	})
}

// Somebody alters an open file under a running recorder's hands.
func TestFileChangedWhileRunning(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		w.startUntilUp()
		w.publishN(1, 10)
		w.settle()
		for i := range 4 { // push the file out of the few that stay open
			w.publish(sess, events.AgentID(fmt.Sprintf("a-%d", i)), []byte(`{"event_type":"x","payload":{}}`))
			time.Sleep(time.Second)
		}
		w.cut(4, 4)
		w.publishN(11, 12)
		w.settle()
		w.verify()
	})
}

// An agent whose file cannot be used holds up itself and the checkpoint, and
// no other agent of its slot.
func TestOneBadAgent(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		w.startUntilUp()
		w.publish(sess, "good", []byte(`{"event_type":"x","payload":{}}`))
		w.settle()
		const bad = "sessions/s-0/agents/bad/wire.jsonl"
		w.fs.SetBytes(bad, w.fs.Bytes("sessions/s-0/agents/good/wire.jsonl"))
		w.publish(sess, "bad", []byte(`{"event_type":"x","payload":{}}`))
		w.publishN(1, 30)
		time.Sleep(10 * time.Second)
		if err := w.proc.svc.Ready(); !errors.Is(err, wirelog.ErrForeign) {
			t.Errorf("ready: %v", err)
		}
		if got := w.kinds(); !strings.HasSuffix(got, "e30") {
			t.Errorf("recorded %s", got)
		}
		key := statestore.CheckpointKey(statestore.RoleRecorder, sess.Slot(slotCount))
		if e, err := w.store.Get(w.ctx(), key); err != nil || !strings.Contains(string(e.Value), `"stream_seq":1,`) {
			t.Errorf("checkpoint %s, %v", e.Value, err)
		}
		w.fs.Delete(bad)
		w.settle()
		w.verify()
		if e, err := w.store.Get(w.ctx(), key); err != nil || !strings.Contains(string(e.Value), `"stream_seq":32,`) {
			t.Errorf("checkpoint %s, %v", e.Value, err)
		}
	})
}
