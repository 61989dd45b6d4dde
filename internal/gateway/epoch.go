package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/stenohq/steno/internal/statestore"
	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/fold"
	"github.com/stenohq/steno/pkg/protocol"
)

// epoch names the numbering of a session's logs. It is known without reading
// them: from the topology, the fold version, and how often the session has
// been forgotten (leader read).
func (src *source) epoch(ctx context.Context, s events.SessionID) (string, error) {
	var gone struct {
		Incarnation uint64 `json:"incarnation"`
	}
	e, err := src.state.Get(ctx, "gone."+s.Token())
	switch {
	case errors.Is(err, statestore.ErrNotFound):
	case err != nil:
		return "", fmt.Errorf("read incarnation of %s: %w", s, err)
	default:
		if err := json.Unmarshal(e.Value, &gone); err != nil {
			return "", fmt.Errorf("read incarnation of %s: %w", s, err)
		}
	}
	return protocol.Epoch(src.topology, string(s), gone.Incarnation, fold.Version), nil
}

// position is a session's epoch and the end of its main agent's log; known is
// false for a session nobody has written to.
func (g *Gateway) position(ctx context.Context, id events.SessionID) (_ protocol.SessionCursor, known bool, _ error) {
	s, err := g.hub.loaded(ctx, id)
	if err != nil {
		return protocol.SessionCursor{}, false, err
	}
	defer g.hub.release(s)
	return s.end(), len(s.current().feeds) > 0, nil
}
