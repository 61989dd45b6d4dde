package recorder

import (
	"context"
	"sync"

	"github.com/stenohq/steno/internal/eventlog"
)

// reader reads a tail ahead by one batch. It owns the tail.
type reader struct {
	batches chan []eventlog.Record // closed at the end, when err is set
	err     error
	tail    eventlog.Tail
	cancel  context.CancelFunc
	done    sync.WaitGroup
}

func startReader(ctx context.Context, tail eventlog.Tail) *reader {
	r := &reader{batches: make(chan []eventlog.Record), tail: tail}
	ctx, r.cancel = context.WithCancel(ctx)
	r.done.Go(func() {
		defer close(r.batches)
		r.err = r.read(ctx)
	})
	return r
}

func (r *reader) read(ctx context.Context) error {
	for {
		batch, err := r.tail.Next(ctx, nil, batchSize)
		if err != nil {
			return err
		}
		select {
		case r.batches <- batch:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// stop ends the reading; what it had read is dropped. Later calls do nothing.
func (r *reader) stop() {
	r.cancel()
	// Next has returned by its context, so that Close only frees the tail.
	r.done.Wait()
	_ = r.tail.Close()
}
