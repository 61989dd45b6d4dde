package gateway

import "time"

// Limits bound what a gateway holds and how long it waits.
type Limits struct {
	RingBytes      int           // newest batches kept per agent
	ReplayBatches  int           // a larger backlog is answered by a reset
	ReplayBytes    int           // likewise
	WriteBytes     int           // gathered for one write to a connection
	PingBytes      int           // sent at most between two pings, but for one larger message
	SendBytes      int           // a connection's buffer in the kernel
	WindowTurns    int           // turns of a baseline reset
	MessageBytes   int64         // largest message a WebSocket client may send
	BodyBytes      int64         // largest request body
	Subscriptions  int           // sessions one connection may watch
	Heartbeat      time.Duration // ping interval; two unanswered ones close
	Watermark      time.Duration // empty transcript.ops below grade delta
	SlowClient     time.Duration // a client that takes nothing that long is closed
	Grace          time.Duration // an unwatched session is kept that long
	IdleCheck      time.Duration // silence before the leader is asked
	CatchUp        time.Duration // how long an answer may wait for the leader
	Drain          time.Duration // how long Run waits for requests at its end, and a closed connection for its client
	QueryFeeds     int           // folds kept for the runs query
	HistoryBytes   int           // closed turns of a re-made history
	HistoryTimeout time.Duration // a re-made history unused that long is dropped
}

// DefaultLimits are the limits of spec/gateway.md.
func DefaultLimits() Limits {
	return Limits{
		RingBytes: 2 << 20, ReplayBatches: 2000, ReplayBytes: 1 << 20,
		WriteBytes: 64 << 10, PingBytes: 128 << 10, SendBytes: 256 << 10, WindowTurns: 20,
		MessageBytes: 256 << 10, BodyBytes: 8 << 20, Subscriptions: 1000,
		Heartbeat: 10 * time.Second, Watermark: 10 * time.Second,
		SlowClient: 30 * time.Second, Grace: 20 * time.Second,
		IdleCheck: 3 * time.Second, CatchUp: 5 * time.Second,
		Drain: 5 * time.Second, QueryFeeds: 64,
		HistoryBytes: 32 << 20, HistoryTimeout: time.Minute,
	}
}

func (l Limits) withDefaults() Limits {
	d := DefaultLimits()
	orInt(&l.RingBytes, d.RingBytes)
	orInt(&l.ReplayBatches, d.ReplayBatches)
	orInt(&l.ReplayBytes, d.ReplayBytes)
	orInt(&l.WriteBytes, d.WriteBytes)
	orInt(&l.PingBytes, d.PingBytes)
	orInt(&l.SendBytes, d.SendBytes)
	orInt(&l.WindowTurns, d.WindowTurns)
	orInt(&l.MessageBytes, d.MessageBytes)
	orInt(&l.BodyBytes, d.BodyBytes)
	orInt(&l.Subscriptions, d.Subscriptions)
	orInt(&l.Heartbeat, d.Heartbeat)
	orInt(&l.Watermark, d.Watermark)
	orInt(&l.SlowClient, d.SlowClient)
	orInt(&l.Grace, d.Grace)
	orInt(&l.IdleCheck, d.IdleCheck)
	orInt(&l.CatchUp, d.CatchUp)
	orInt(&l.Drain, d.Drain)
	orInt(&l.QueryFeeds, d.QueryFeeds)
	orInt(&l.HistoryBytes, d.HistoryBytes)
	orInt(&l.HistoryTimeout, d.HistoryTimeout)
	return l
}

func orInt[T ~int | ~int64](v *T, def T) {
	if *v == 0 {
		*v = def
	}
}
