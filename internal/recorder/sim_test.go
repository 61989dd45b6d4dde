package recorder_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/stenohq/steno/internal/archive"
	"github.com/stenohq/steno/internal/archive/wirelog"
	"github.com/stenohq/steno/internal/archive/wirelog/crashfs"
	"github.com/stenohq/steno/internal/eventlog/memlog"
	"github.com/stenohq/steno/internal/recorder"
	"github.com/stenohq/steno/internal/statestore"
	"github.com/stenohq/steno/internal/statestore/memstate"
	"github.com/stenohq/steno/pkg/events"
)

const slotCount = 4

// world is everything that outlives a recorder.
type world struct {
	t       tester
	log     *memlog.Log
	store   *memstate.Store
	members *memstate.Members
	fs      *crashfs.FS
	proc    *process
	rnd     *rand.Rand
}

// tester is what *testing.T and *rapid.T share.
type tester interface {
	Helper()
	Fatalf(format string, args ...any)
	Errorf(format string, args ...any)
	Logf(format string, args ...any)
}

func newWorld(t tester, seed uint64) *world {
	w := &world{
		t: t, log: memlog.New(slotCount), store: memstate.New(), members: memstate.NewMembers(),
		fs: crashfs.New(seed), rnd: rand.New(rand.NewPCG(seed, 2)),
	}
	return w
}

// process is one recorder process.
type process struct {
	svc    *recorder.Service
	dead   atomic.Bool
	cancel context.CancelFunc
	done   chan error
}

// cutStore is the store as a process sees it: unreachable once it is dead.
type cutStore struct {
	statestore.Store
	dead *atomic.Bool
}

var errDead = errors.New("process is dead")

func (c cutStore) Get(ctx context.Context, key string) (statestore.Entry, error) {
	if c.dead.Load() {
		return statestore.Entry{}, errDead
	}
	return c.Store.Get(ctx, key)
}

func (c cutStore) Put(ctx context.Context, w statestore.Write) (statestore.Rev, error) {
	if c.dead.Load() {
		return nil, statestore.ErrAmbiguous
	}
	return c.Store.Put(ctx, w)
}

func (c cutStore) Apply(ctx context.Context, commit statestore.Commit) ([]statestore.Rev, error) {
	if c.dead.Load() {
		return nil, statestore.ErrAmbiguous
	}
	return c.Store.Apply(ctx, commit)
}

func (c cutStore) Outcome(ctx context.Context, commit statestore.Commit) ([]statestore.Rev, bool, error) {
	if c.dead.Load() {
		return nil, false, errDead
	}
	return c.Store.Outcome(ctx, commit)
}

func (c cutStore) List(ctx context.Context, prefix string) iter.Seq2[statestore.Entry, error] {
	return c.Store.List(ctx, prefix)
}

func (w *world) start() *process {
	p := &process{done: make(chan error, 1)}
	p.svc = recorder.New(recorder.Deps{
		Log: w.log, Store: cutStore{w.store, &p.dead}, Members: w.members,
	}, recorder.Config{
		Open: func() (*wirelog.Dir, error) {
			return wirelog.OpenDirFS(w.fs, wirelog.Options{PartSize: 5000, MaxOpen: 3})
		},
		TopologyID: "topology", MaxAgents: 4,
	})
	var ctx context.Context
	ctx, p.cancel = context.WithCancel(context.Background())
	go func() { p.done <- p.svc.Run(ctx) }()
	w.proc = p
	return p
}

// startUntilUp starts processes until one opens its directory: a disk that
// fails may keep the first ones from it.
func (w *world) startUntilUp() {
	for {
		p := w.start()
		synctest.Wait()
		select {
		case err := <-p.done:
			w.t.Logf("start: %v", err)
			if w.fs.Dead() {
				w.fs.Restart()
			}
			w.fs.SetCapacity(0)
			p.cancel()
		default:
			return
		}
	}
}

// stop ends the process as SIGTERM does.
func (w *world) stop() {
	w.proc.cancel()
	if err := <-w.proc.done; err != nil {
		w.t.Fatalf("run: %v", err)
	}
}

// kill ends the process as kill -9 or, with power, as the end of power does.
func (w *world) kill(power bool) {
	w.proc.dead.Store(true)
	w.fs.KillIn(1)
	w.proc.cancel()
	<-w.proc.done
	if power {
		w.fs.Crash()
	} else {
		w.fs.Restart()
	}
}

func (w *world) publish(s events.SessionID, a events.AgentID, data []byte) {
	if _, err := w.log.Append(context.Background(), s, a, data, ""); err != nil {
		w.t.Fatalf("append: %v", err)
	}
}

// reap ends what a failed test has left behind.
func (w *world) reap() {
	w.proc.dead.Store(true)
	w.proc.cancel()
	time.Sleep(time.Hour)
}

// settle lets the recorder finish: everything stored is durable and saved.
func (w *world) settle() {
	w.t.Helper()
	for range 600 {
		time.Sleep(time.Second)
		if w.proc.svc.Ready() == nil && w.savedAll() {
			return
		}
	}
	w.t.Fatalf("not everything was recorded in ten minutes: ready: %v, stats %+v", w.proc.svc.Ready(), w.proc.svc.Stats())
}

// savedAll tells whether each agent's position is its last record.
func (w *world) savedAll() bool {
	ctx := context.Background()
	for s, agents := range w.agents() {
		for _, a := range agents {
			last, err := w.log.Last(ctx, s, a)
			if err != nil {
				return false
			}
			e, err := w.store.Get(ctx, statestore.AgentKey("rec", s.Slot(slotCount), s.Token(), a.Token()))
			if err != nil || !contains(e.Value, fmt.Sprintf(`"stream_seq":%d,`, last.StreamSeq)) {
				return false
			}
		}
	}
	return true
}

func (w *world) agents() map[events.SessionID][]events.AgentID {
	ctx := context.Background()
	all := map[events.SessionID][]events.AgentID{}
	for i := range 3 {
		s := events.SessionID(fmt.Sprintf("s-%d", i))
		if agents, err := w.log.Agents(ctx, s); err == nil && len(agents) > 0 {
			all[s] = agents
		}
	}
	return all
}

// verify compares the archive with the stream.
func (w *world) verify() {
	w.t.Helper()
	ctx := context.Background()
	r := wirelog.NewReaderFS(w.fs)
	for s, agents := range w.agents() {
		for _, a := range agents {
			records, err := w.log.Range(ctx, s, a, 0, 1<<20)
			if err != nil {
				w.t.Fatalf("range: %v", err)
			}
			i := 0
			for line, err := range r.Read(ctx, s, a, 0) {
				if err != nil {
					w.t.Fatalf("read: %v", err)
				}
				if i == len(records) {
					w.t.Fatalf("%s/%s: line %d was never stored", s, a, line.Seq)
				}
				rec := records[i]
				i++
				if line.Seq != uint64(i) || line.StreamSeq != rec.StreamSeq || string(line.Data) != string(rec.Data) ||
					(line.Kind == archive.Lost) != rec.Lost {
					w.t.Fatalf("%s/%s: line %d (stream_seq %d) %s, want record %d %s", s, a, line.Seq, line.StreamSeq, line.Data, rec.StreamSeq, rec.Data)
				}
			}
			if i != len(records) {
				w.t.Fatalf("%s/%s: %d lines of %d records", s, a, i, len(records))
			}
			for f, err := range r.Verify(ctx, s, a) {
				w.t.Fatalf("%v %v", f, err)
			}
		}
	}
}

func contains(b []byte, s string) bool {
	for i := 0; i+len(s) <= len(b); i++ {
		if string(b[i:i+len(s)]) == s {
			return true
		}
	}
	return false
}

// inject makes a share of the store's operations fail, in every way it can.
func (w *world) inject(percent int) {
	if percent == 0 {
		w.store.Inject(nil)
		return
	}
	w.store.Inject(func(memstate.Op) memstate.Fault {
		if w.rnd.IntN(100) >= percent {
			return memstate.None
		}
		return memstate.Fault(w.rnd.IntN(int(memstate.Late) + 1))
	})
}

// Whatever dies, fails or fills up, in the end the archive holds every stored
// message once and in order, and nothing that was durable had to be fetched
// again.
func TestRecordsEverythingOnce(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		bubble(t, func() { recordEverythingOnce(rt) })
	})
}

func recordEverythingOnce(t *rapid.T) {
	w := newWorld(t, rapid.Uint64().Draw(t, "seed"))
	defer w.reap()
	w.startUntilUp()
	n := 0
	for range rapid.IntRange(1, 25).Draw(t, "steps") {
		w.step(t, &n)
	}
	w.inject(0)
	w.store.DeliverLate()
	w.fs.SetCapacity(0)
	w.fs.FailSyncs(0)
	if w.fs.Dead() {
		w.kill(true)
		w.startUntilUp()
	}
	w.fs.KillIn(0)
	w.settle()
	w.verify()
	if s := w.proc.svc.Stats(); s.Lost+s.Refilled > 0 {
		t.Fatalf("durable lines were gone: %+v", s)
	}
	w.stop()
	w.verify()
}

// bubble runs f in a synctest bubble of its own and hands on its panic, by
// which rapid ends a check.
func bubble(t *testing.T, f func()) {
	t.Helper()
	var p any
	synctest.Test(t, func(*testing.T) {
		defer func() { p = recover() }()
		f()
	})
	if p != nil {
		panic(p)
	}
}

func (w *world) step(t *rapid.T, n *int) {
	switch rapid.IntRange(0, 11).Draw(t, "step") {
	case 0:
		w.kill(false)
		w.startUntilUp()
	case 1:
		w.kill(true)
		w.startUntilUp()
	case 2:
		if w.fs.Dead() {
			w.kill(false)
		} else {
			w.inject(0)
			w.fs.SetCapacity(0)
			w.stop()
		}
		w.startUntilUp()
	case 3:
		w.fs.FailSyncs(rapid.IntRange(1, 4).Draw(t, "syncs"))
	case 4:
		w.fs.SetCapacity(rapid.Int64Range(100, 40_000).Draw(t, "capacity"))
	case 5:
		w.fs.SetCapacity(0)
	case 6:
		w.inject(rapid.SampledFrom([]int{0, 10, 40}).Draw(t, "percent"))
	case 7:
		w.store.DeliverLate()
	case 8:
		w.fs.KillIn(rapid.Int64Range(1, 5000).Draw(t, "kill in"))
	default:
		for range rapid.IntRange(1, 12).Draw(t, "messages") {
			*n++
			s := events.SessionID(fmt.Sprintf("s-%d", rapid.IntRange(0, 2).Draw(t, "session")))
			a := events.AgentID(fmt.Sprintf("a-%d", rapid.IntRange(0, 3).Draw(t, "agent")))
			data := fmt.Appendf(nil, `{"event_type":"assistant.delta","payload":{"delta":"%d"}}`, *n)
			if rapid.IntRange(0, 9).Draw(t, "bad") == 0 {
				data = []byte("not an event\n")
			}
			w.publish(s, a, data)
		}
	}
	time.Sleep(time.Duration(rapid.IntRange(0, 4000).Draw(t, "ms")) * time.Millisecond)
}

func (w *world) ctx() context.Context { return context.Background() }
