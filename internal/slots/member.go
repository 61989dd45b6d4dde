package slots

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/stenohq/steno/internal/statestore"
)

// Member is one process of a role.
type Member struct {
	cfg      Config
	requests chan *request
	kick     chan struct{} // a term has changed: look again

	mu      sync.Mutex     // guards all below
	slots   map[int]*Owned // taken or being taken
	live    []string
	beaten  time.Time // last heartbeat; zero before the first
	cutOff  bool      // the heartbeat after it failed
	settled time.Time // nothing is taken before
	named   map[int]time.Time
	away    map[int]time.Time // since when an owned slot is assigned elsewhere
	failed  map[int]failure
	beat    chan struct{} // closed and replaced with every heartbeat
}

type failure struct {
	err   error
	until time.Time // not taken before
}

// New returns a member that owns nothing yet.
func New(cfg Config) *Member {
	return &Member{
		cfg:      cfg,
		requests: make(chan *request),
		kick:     make(chan struct{}, 1),
		slots:    map[int]*Owned{},
		named:    map[int]time.Time{},
		away:     map[int]time.Time{},
		failed:   map[int]failure{},
		beat:     make(chan struct{}),
	}
}

// Run beats, takes slots and serves them until ctx ends; then it lets the work
// drain, releases the terms and returns nil. It returns an error only when the
// configuration is wrong.
func (m *Member) Run(ctx context.Context, work Work) error {
	cfg, err := m.cfg.withDefaults()
	if err != nil {
		return err
	}
	m.cfg = cfg
	// The work and the committer outlive ctx, to drain.
	base, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	var slots, helpers sync.WaitGroup
	helpers.Go(func() { m.commitLoop(base) })
	helpers.Go(func() { m.watchTerms(base) })

	tick := time.NewTicker(cfg.Timing.Beat)
	defer tick.Stop()
	m.heartbeat(ctx)
	for ctx.Err() == nil {
		for _, o := range m.takable(base) {
			slots.Go(func() { m.serve(base, o, work) })
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
			m.heartbeat(ctx)
		case <-m.kick:
		}
	}
	m.drainAll(base, &slots, tick.C)
	stop(ErrStopped)
	helpers.Wait()
	return nil
}

// drainAll hands everything over, beating meanwhile since a commit pauses
// without heartbeats, and leaves.
func (m *Member) drainAll(base context.Context, slots *sync.WaitGroup, tick <-chan time.Time) {
	for _, o := range m.owned() {
		o.handOver()
	}
	done := make(chan struct{})
	go func() { slots.Wait(); close(done) }()
	for waiting := true; waiting; {
		select {
		case <-done:
			waiting = false
		case <-tick:
			m.heartbeat(base)
		}
	}
	ctx, cancel := context.WithTimeout(base, m.cfg.Timing.Beat)
	defer cancel()
	if err := m.cfg.Members.Leave(ctx, m.cfg.Role, m.cfg.Name); err != nil {
		m.cfg.Logger.Warn("leave the members", "role", m.cfg.Role, "error", err)
	}
}

func (m *Member) owned() []*Owned {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := make([]*Owned, 0, len(m.slots))
	for _, o := range m.slots {
		all = append(all, o)
	}
	return all
}

// heartbeat looks who is live and says that this member is.
func (m *Member) heartbeat(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 2*m.cfg.Timing.Beat)
	defer cancel()
	live, err := m.cfg.Members.Live(ctx, m.cfg.Role)
	if err == nil {
		err = m.cfg.Members.Beat(ctx, m.cfg.Role, m.cfg.Name)
	}
	if err != nil {
		m.mu.Lock()
		m.cutOff = true
		m.mu.Unlock()
		if ctx.Err() == nil || errors.Is(ctx.Err(), context.DeadlineExceeded) {
			m.cfg.Logger.Warn("heartbeat", "role", m.cfg.Role, "error", err)
		}
		return
	}
	m.beatDone(live)
}

func (m *Member) beatDone(live []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	first := m.beaten.IsZero()
	// The members, or the way to them, were gone: then those who seem missing,
	// this member included, need not be.
	cutOff := m.cutOff
	m.cutOff = false
	missing := !slices.Contains(live, m.cfg.Name)
	if !first && !cutOff && missing && len(live) > 0 {
		m.cfg.Logger.Warn("missing among the members: giving up all slots", "role", m.cfg.Role)
		for _, o := range m.slots {
			o.end(fmt.Errorf("%w: this member was missing among the others", ErrLost))
		}
	}
	if cutOff {
		m.settled = now.Add(m.cfg.Timing.Settle)
	}
	if missing {
		live = append(live, m.cfg.Name)
		slices.Sort(live)
	}
	m.live, m.beaten = live, now
	m.reassign(now)
	close(m.beat)
	m.beat = make(chan struct{})
}

// reassign notes since when each slot is assigned to this member, and hands
// over the slots that are long enough assigned to others. mu is held.
func (m *Member) reassign(now time.Time) {
	for slot := range m.cfg.Slots {
		mine := Assign(m.cfg.Role, slot, m.live) == m.cfg.Name
		o := m.slots[slot]
		if !mine {
			delete(m.named, slot)
		} else if _, ok := m.named[slot]; !ok {
			m.named[slot] = now
		}
		if mine || o == nil {
			delete(m.away, slot)
		} else if since, ok := m.away[slot]; !ok {
			m.away[slot] = now
		} else if now.Sub(since) >= m.cfg.Timing.HandOver && !now.Before(m.settled) {
			o.handOver()
		}
	}
}

// late tells whether the last heartbeat is too old to write anything, and
// returns a channel that is closed with the next one.
func (m *Member) late() (bool, <-chan struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return time.Since(m.beaten) > m.cfg.Timing.Late, m.beat
}

// Ready is nil when this member is live and serves every slot assigned to it.
func (m *Member) Ready() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.beaten.IsZero() {
		return errors.New("not among the members yet")
	}
	if silent := time.Since(m.beaten); silent > m.cfg.Timing.Late {
		return fmt.Errorf("no heartbeat for %v: the members are out of reach", silent.Round(time.Second))
	}
	for slot := range m.cfg.Slots {
		if _, mine := m.named[slot]; !mine {
			continue
		}
		if o := m.slots[slot]; o != nil && o.term > 0 {
			continue
		}
		if f, ok := m.failed[slot]; ok {
			return fmt.Errorf("slot %d: %w", slot, f.err)
		}
		return fmt.Errorf("slot %d is not taken yet", slot)
	}
	return nil
}

// watchTerms notices at once when a slot is released, or taken from this
// member.
func (m *Member) watchTerms(ctx context.Context) {
	for ctx.Err() == nil {
		for c, err := range m.cfg.Store.Watch(ctx, statestore.PrefixTerm+"."+m.cfg.Role) {
			if err != nil {
				m.cfg.Logger.Warn("watch the terms", "role", m.cfg.Role, "error", err)
				break
			}
			m.termChanged(c)
		}
		sleep(ctx, m.cfg.Timing.Retry)
	}
}

func (m *Member) termChanged(c statestore.Change) {
	m.mu.Lock()
	for slot, o := range m.slots {
		if o.term > 0 && c.Key == statestore.TermKey(m.cfg.Role, slot) && c.Rev[0] > o.term {
			o.end(ErrLost)
		}
	}
	m.mu.Unlock()
	select {
	case m.kick <- struct{}{}:
	default:
	}
}

// sleep waits for d or the end of ctx.
func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
