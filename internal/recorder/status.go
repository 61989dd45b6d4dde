package recorder

import (
	"fmt"
	"sync"
	"time"
)

// status is what Ready and Stats are answered from.
type status struct {
	mu    sync.Mutex
	slots map[int]*slotStatus
	total Stats
}

// slotStatus is one slot that is being recorded. Its status guards it.
type slotStatus struct {
	moved   time.Time // last progress
	pending uint64    // known to wait
	err     error     // what holds it up
	tailing bool
}

// Stats counts what this process has done since it began.
type Stats struct {
	Recorded uint64 // lines made durable
	Known    uint64 // messages that were in the file already
	SetAside uint64 // damaged or altered lines set aside by repairs
	Refilled uint64 // lines written again from the stream
	Lost     uint64 // messages that no copy was left of
	Pending  uint64 // messages known to wait in the stream
}

// Stats returns the counts so far.
func (s *Service) Stats() Stats {
	s.status.mu.Lock()
	defer s.status.mu.Unlock()
	total := s.status.total
	for _, sl := range s.status.slots {
		total.Pending += sl.pending
	}
	return total
}

func (st *status) update(slot int, f func(*slotStatus, *Stats)) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.slots == nil {
		st.slots = map[int]*slotStatus{}
	}
	sl := st.slots[slot]
	if sl == nil {
		sl = &slotStatus{moved: time.Now()}
		st.slots[slot] = sl
	}
	f(sl, &st.total)
}

func (st *status) drop(slot int) {
	st.mu.Lock()
	defer st.mu.Unlock()
	delete(st.slots, slot)
}

func (st *status) ready(slots int, stalled time.Duration) error {
	st.mu.Lock()
	defer st.mu.Unlock()
	for slot := range slots {
		sl := st.slots[slot]
		switch {
		case sl == nil: // another process has it
		case sl.err != nil:
			return fmt.Errorf("recorder: slot %d: %w", slot, sl.err)
		case !sl.tailing:
			return fmt.Errorf("recorder: slot %d is not read yet", slot)
		case sl.pending > 0 && time.Since(sl.moved) > stalled:
			return fmt.Errorf("recorder: slot %d stands still with %d messages waiting", slot, sl.pending)
		}
	}
	return nil
}
