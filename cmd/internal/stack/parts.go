package stack

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
)

// Part is one service of a program.
type Part struct {
	Name  string
	Run   func(ctx context.Context) error
	Ready func() error
}

// Run runs the parts until ctx ends or one of them fails, which ends the
// others; it returns when all have returned. onReady is called once, when all
// parts are ready.
func Run(ctx context.Context, parts []Part, onReady func()) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, p := range parts {
		group.Go(func() error {
			if err := p.Run(ctx); err != nil {
				return fmt.Errorf("%s: %w", p.Name, err)
			}
			if ctx.Err() == nil {
				return fmt.Errorf("%s ended by itself", p.Name)
			}
			return nil
		})
	}
	group.Go(func() error {
		if awaitReady(ctx, parts) == nil {
			onReady()
		}
		return nil
	})
	return group.Wait()
}

// awaitReady returns nil once all parts are ready.
func awaitReady(ctx context.Context, parts []Part) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for Ready(parts) != nil {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
	return nil
}

// Ready names the parts that are not ready and why; nil when all are.
func Ready(parts []Part) error {
	var all []error
	for _, p := range parts {
		if err := p.Ready(); err != nil {
			all = append(all, fmt.Errorf("%s: %w", p.Name, err))
		}
	}
	return errors.Join(all...)
}
