package gwclient

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"

	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/protocol"
	"github.com/stenohq/steno/pkg/reducer"
)

// History is a transcript from its beginning, as pages: the oldest first, each
// turn with all its steps.
func (c *Client) History(ctx context.Context, id events.SessionID, agent events.AgentID) ([]protocol.Page, error) {
	var pages []protocol.Page
	query := url.Values{"page_size": {"100"}}
	for {
		page, _, err := c.Page(ctx, id, agent, query)
		if err != nil {
			return nil, err
		}
		pages = append(pages, page)
		first := firstTurn(page.Snapshot)
		if !page.HasMore || first == "" {
			break
		}
		query.Set("before_turn", first)
		query.Set("min_seq", strconv.FormatUint(pages[0].Seq, 10))
	}
	slices.Reverse(pages)
	return pages, nil
}

func firstTurn(s *reducer.Snapshot) string {
	for t := range s.Turns() {
		return t.TurnID
	}
	return ""
}

// Steps returns all steps of a turn, of which a page holds the newest.
func (c *Client) Steps(ctx context.Context, id events.SessionID, agent events.AgentID, turn *reducer.Turn) ([]*reducer.Step, error) {
	steps := turn.Steps
	err := c.OlderSteps(ctx, id, agent, turn, func(_ *reducer.Snapshot, older []*reducer.Step) {
		steps = append(slices.Clone(older), steps...)
	})
	return steps, err
}

// OlderSteps yields the pages with the steps of a turn that are older than
// those it has here, the newest page first.
func (c *Client) OlderSteps(ctx context.Context, id events.SessionID, agent events.AgentID, turn *reducer.Turn, yield func(page *reducer.Snapshot, older []*reducer.Step)) error {
	for t := turn; t.HasMoreSteps && len(t.Steps) > 0; {
		before := t.Steps[0].Ordinal
		page, _, err := c.Page(ctx, id, agent, url.Values{"turn": {t.TurnID}, "before_step": {strconv.Itoa(before)}})
		if err != nil {
			return err
		}
		t = nil
		for found := range page.Snapshot.Turns() {
			if found.TurnID == turn.TurnID {
				t = found
			}
		}
		if t == nil || len(t.Steps) == 0 {
			return fmt.Errorf("the gateway has no steps of turn %s before step %d", turn.TurnID, before)
		}
		yield(page.Snapshot, t.Steps)
	}
	return nil
}
