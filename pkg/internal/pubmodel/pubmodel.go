// Package pubmodel is a model of conforming publishers and a lossy stream, for
// metamorphic tests: it plays a story of runs into a dirty log, as a stream
// may come to hold it, and says which messages of that log are the clean one.
//
// The publishers keep the order rules of the event specification: a window of
// at most 2,048 events from the lowest unacknowledged one, after a failure
// that one alone and then everything behind it again, an ack that counts only
// above the one before, the same bytes under the same n, no run before the
// former one is acknowledged unless another machine starts it. The stream may
// refuse a message, store it and lose its ack, or store it much later.
// Processes crash, with their spool or without, and may wake up as zombies
// when another run has long taken over.
package pubmodel

import (
	"fmt"
	"strings"

	"github.com/stenohq/steno/pkg/events"
)

// Window is the most events a publisher has out at a time.
const Window = 2048

// Message is one stored message. In a clean log seq has the dirty log's
// numbers, so that both logs give the same ids to what they make.
type Message struct {
	Seq  uint64
	Data []byte
}

// Pair is a story as it was stored, and what of it counts.
type Pair struct {
	Dirty []Message // seq 1, 2, 3 …
	Clean []Message // the messages of Dirty that enter the tree, in that order
	Late  int       // how many of Clean belong to a run that another had followed
	Acked int       // how many events publishers were told are stored
}

// Story is what the runtimes emit. Play sets the ids, runs and ordinals, and
// timestamps where there are none.
type Story struct {
	Runs   [][]events.Event
	Casual []events.Event // without n; those with a RunID get that of the run at the time
	Plain  bool           // only crashes and doubles of one machine: no zombies, nothing after a successor
}

// Choose returns a number from 0 to n-1: the model's only source of chance.
type Choose func(n int) int

// Play lets the story happen.
func Play(choose Choose, story Story) Pair {
	m := &model{choose: choose, story: story, next: map[string]uint64{}, casual: map[string]bool{}}
	for i, list := range story.Runs {
		m.start(i, list)
		m.drive(m.procs[len(m.procs)-1])
	}
	for m.another() {
		continue
	}
	for len(m.delayed) > 0 {
		m.storeDelayed()
	}
	m.clean()
	return m.pair
}

type model struct {
	choose  Choose
	story   Story
	procs   []*process // in the order they started; only the last one is no zombie
	delayed []packet
	sent    int // casual events so far
	pair    Pair
	stored  []packet

	next    map[string]uint64 // the reference receiver, without bounds
	casual  map[string]bool
	current string
	began   map[string]bool
}

// packet is a message on its way.
type packet struct {
	run  string
	n    uint64
	id   string
	data []byte
}

// process is one publisher of one run.
type process struct {
	run     string
	packets []packet
	base    int    // the lowest event not acknowledged
	front   int    // the first event not sent
	ackSeq  uint64 // stream sequence of the ack counted for the one before base
	alone   bool   // after a failure: base is sent alone
	window  int
	over    bool // nothing left to send, or died without a spool
}

func (m *model) chance(one, of int) bool { return m.choose(of) < one }

// start prepares the process of a run: its bytes are fixed from now on.
func (m *model) start(i int, list []events.Event) {
	p := &process{run: fmt.Sprintf("019c0000-0000-7000-8000-%012d", i+1)}
	p.window = []int{1, 3, 16, 100, Window}[m.choose(5)]
	for j, ev := range list {
		ev.RunID, ev.N = p.run, uint64(j+1)
		ev.ID = fmt.Sprintf("r%d-%d", i+1, j+1)
		if ev.Timestamp == "" {
			ev.Timestamp = events.FormatTime(int64(i)*1_000_000 + int64(j)*100)
		}
		p.packets = append(p.packets, packet{run: p.run, n: ev.N, id: ev.ID, data: events.AppendEvent(nil, &ev)})
	}
	m.procs = append(m.procs, p)
}

// drive runs a process until it has told everything, or dies. One that leaves
// its spool behind may be woken by another later; on one machine it restarts
// at once and sends the spool first.
func (m *model) drive(p *process) {
	for !p.over {
		m.round(p)
		switch {
		case p.over || !m.chance(1, 12):
		case m.chance(1, 2): // a crash that leaves the spool
			p.restart(m.choose(p.base + 1))
			if !m.story.Plain && m.chance(1, 3) {
				return // another machine takes over before this one is back
			}
		case m.chance(1, 2): // a crash without a spool
			p.over = true
		}
	}
}

// another lets a zombie go on for a while; false when all have ended.
func (m *model) another() bool {
	for _, p := range m.procs {
		if !p.over {
			m.round(p)
			return true
		}
	}
	return false
}

// restart goes on from a spool whose acknowledgements are known up to base.
func (p *process) restart(base int) {
	p.base, p.front, p.ackSeq, p.alone = base, base, 0, true
}

// round sends what the window allows, and counts the acks that come back.
func (m *model) round(p *process) {
	m.meanwhile()
	end := min(len(p.packets), p.base+p.window)
	if p.alone {
		p.front, end = p.base, min(len(p.packets), p.base+1)
	}
	outage := m.chance(1, 4)
	acks := map[int]uint64{}
	for i := p.front; i < end; i++ {
		stored, acked := true, true
		if outage {
			stored, acked = m.fate(p.packets[i])
		}
		if stored {
			if seq := m.store(p.packets[i]); acked {
				acks[i] = seq
			}
		}
	}
	p.front = max(p.front, end)
	m.count(p, acks)
}

// fate decides what an outage does to a message.
func (m *model) fate(k packet) (stored, acked bool) {
	switch m.choose(5) {
	case 0:
		return false, false
	case 1:
		return true, false
	case 2:
		m.delayed = append(m.delayed, k)
		return false, false
	}
	return true, true
}

// count moves base over the acks that count. Anything else is a failure.
func (m *model) count(p *process, acks map[int]uint64) {
	failed := false
	for p.base < p.front {
		seq, ok := acks[p.base]
		if !ok || seq <= p.ackSeq {
			failed = true
			break
		}
		p.base++
		p.ackSeq = seq
		p.alone = false
	}
	if failed {
		p.alone = true
	}
	if failed || p.front > p.base {
		p.front = p.base
	}
	p.over = p.over || p.base == len(p.packets)
}

// meanwhile is what else happens: a message stored late, a casual event, a
// zombie's round.
func (m *model) meanwhile() {
	for len(m.delayed) > 0 && m.chance(1, 3) {
		m.storeDelayed()
	}
	for m.sent < len(m.story.Casual) && m.chance(1, 6) {
		m.sendCasual()
	}
	if len(m.procs) > 1 && m.chance(1, 8) {
		if z := m.procs[m.choose(len(m.procs)-1)]; !z.over {
			end := min(len(z.packets), z.base+1+m.choose(3))
			acks := map[int]uint64{}
			for i := z.base; i < end; i++ {
				acks[i] = m.store(z.packets[i])
			}
			z.front = end
			m.count(z, acks)
		}
	}
}

func (m *model) storeDelayed() {
	i := m.choose(len(m.delayed))
	m.store(m.delayed[i])
	m.delayed = append(m.delayed[:i], m.delayed[i+1:]...)
}

// sendCasual publishes an event without n, perhaps twice, because its ack was
// lost and the stream's own window had passed.
func (m *model) sendCasual() {
	ev := m.story.Casual[m.sent]
	m.sent++
	ev.N = 0
	ev.ID = fmt.Sprintf("casual-%d", m.sent)
	if ev.RunID != "" {
		ev.RunID = m.procs[len(m.procs)-1].run
	}
	if ev.Timestamp == "" {
		ev.Timestamp = events.FormatTime(int64(m.sent) * 10)
	}
	k := packet{run: ev.RunID, id: ev.ID, data: events.AppendEvent(nil, &ev)}
	m.store(k)
	if m.chance(1, 3) {
		m.delayed = append(m.delayed, k)
	}
}

func (m *model) store(k packet) uint64 {
	m.stored = append(m.stored, k)
	seq := uint64(len(m.stored))
	m.pair.Dirty = append(m.pair.Dirty, Message{Seq: seq, Data: k.data})
	return seq
}

// clean finds what counts, with a receiver that has no bounds: of each run the
// next one, of casual events the first.
func (m *model) clean() {
	m.began = map[string]bool{}
	for i, k := range m.stored {
		if k.n == 0 {
			if m.casual[k.id] {
				continue
			}
			m.casual[k.id] = true
		} else {
			if k.n != m.next[k.run]+1 {
				continue
			}
			m.next[k.run]++
		}
		if m.follows(k.run) {
			m.pair.Late++
		}
		m.pair.Clean = append(m.pair.Clean, m.pair.Dirty[i])
	}
	for _, p := range m.procs {
		m.pair.Acked += p.base
	}
}

// follows keeps the current run and reports whether run came before it.
func (m *model) follows(run string) bool {
	switch {
	case run == "" || run == m.current:
		return false
	case m.began[run] || strings.Compare(run, m.current) < 0:
		m.began[run] = true
		return true
	}
	m.began[run] = true
	m.current = run
	return false
}
