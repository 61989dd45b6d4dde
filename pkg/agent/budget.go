package agent

import (
	"context"
	"fmt"
	"sync"
)

// budget bounds the bytes that wait in one or several outboxes.
type budget struct {
	limit int

	mu   sync.Mutex
	used int
	room chan struct{} // closed when there is room again; nil while nobody waits
}

// take reserves n bytes. When there is no room it returns a channel that is
// closed when it is worth trying again. One event always fits.
func (b *budget) take(n int) (wait <-chan struct{}, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.used == 0 || b.used+n <= b.limit {
		b.used += n
		return nil, true
	}
	if b.room == nil {
		b.room = make(chan struct{})
	}
	return b.room, false
}

// give returns n bytes. Whoever waits is woken when half is free, so that it
// does not wake for each event.
func (b *budget) give(n int) {
	if n == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used -= n
	if b.room != nil && b.used <= b.limit/2 {
		close(b.room)
		b.room = nil
	}
}

// wait blocks until room is closed, the outbox is closed or ctx ends.
func (b *budget) wait(ctx context.Context, room, closed <-chan struct{}) error {
	select {
	case <-room:
		return nil
	case <-closed:
		return ErrClosed
	case <-ctx.Done():
		return fmt.Errorf("%w (%d bytes): %w", ErrFull, b.limit, context.Cause(ctx))
	}
}
