package fold

import "github.com/stenohq/steno/pkg/reducer"

// Sink receives what leaves the state. Its methods are called from inside
// Step, in the order in which things close.
type Sink = reducer.FoldSink

// Option configures an Agent.
type Option func(*Agent)

// ReuseOps makes the operations of a batch valid until the next Step only: for
// readers of long logs who look at each batch at once, or keep only what a
// sink gets.
func ReuseOps() Option { return func(a *Agent) { a.reuseOps = true } }

// WithSink hands every turn, step, marker, task reference and entity that
// closes to s, so that a reader of old pages can keep those it was asked for.
func WithSink(s Sink) Option { return func(a *Agent) { a.sink = s } }
