package gateway

import (
	"context"
	"time"
)

// idleCheck asks the leader for the end of feeds that have gone silent: the
// last message of a burst can be lost without a later one to tell. A feed that
// stays silent is asked less often, down to every fourth round.
type idleCheck struct {
	every time.Duration
	next  time.Time
	round uint64
	quiet map[*feed]quiet
}

type quiet struct {
	seq    uint64
	rounds uint64
}

func newIdleCheck(every time.Duration) *idleCheck {
	return &idleCheck{every: every, next: time.Now().Add(every), quiet: map[*feed]quiet{}}
}

// wait is how long the session may sleep before the next round.
func (c *idleCheck) wait() time.Duration {
	return max(time.Until(c.next), time.Millisecond)
}

// run does a round when one is due.
func (c *idleCheck) run(ctx context.Context, s *session) error {
	if time.Now().Before(c.next) {
		return nil
	}
	c.round++
	for _, f := range s.current().feeds {
		if !c.due(f) {
			continue
		}
		if _, err := f.catchUp(ctx); err != nil {
			return err
		}
	}
	if c.round%4 == 0 {
		if err := s.discover(ctx, false); err != nil {
			return err
		}
	}
	c.next = time.Now().Add(c.every)
	return nil
}

func (c *idleCheck) due(f *feed) bool {
	seq, _ := f.position()
	q := c.quiet[f]
	if q.seq != seq {
		q = quiet{seq: seq}
	} else {
		q.rounds++
	}
	c.quiet[f] = q
	return q.rounds > 0 && (q.rounds <= 4 || q.rounds%4 == 0)
}
