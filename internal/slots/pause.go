package slots

import (
	"context"
	"math/rand/v2"
	"time"
)

// firstPause is the pause after the first failure; it doubles from there.
const firstPause = 5 * time.Millisecond

// pause spaces attempts: exponential with full jitter.
type pause struct {
	next, most time.Duration
}

func (m *Member) newPause() *pause { return &pause{next: firstPause, most: m.cfg.Timing.Retry} }

func (p *pause) wait(ctx context.Context) {
	d := time.Duration(rand.Int64N(int64(p.next))) + time.Millisecond
	p.next = min(2*p.next, p.most)
	sleep(ctx, d)
}
