package gateway

import (
	"math"
	"mime"
	"strings"

	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/memory"
)

// showResume answers with the resume state of an agent, or of one of its runs.
func (c *call) showResume() *problem {
	agent := c.query.agent()
	run, _ := c.query.one("run_id")
	if len(run) > events.MaxID {
		c.query.fail(badRequest("bad_parameter", "run_id is longer than 128"))
	}
	history, given := c.query.one("history")
	if given && history != "all" {
		c.query.fail(badRequest("bad_parameter", "history is "+shown(history)+"; it must be all, or absent"))
	}
	if c.query.wrong != nil {
		return c.query.wrong
	}
	st, err := c.g.queries.resume(c.r.Context(), c.session, agent, run, given)
	if err != nil {
		return asProblem(err)
	}
	if st.LastSeq == 0 {
		if p := c.exists(agent); p != nil {
			return p
		}
	}
	return c.body(st.AppendJSON(nil))
}

// showMemory answers with the session memory of an agent, rendered for those
// who want text.
func (c *call) showMemory() *problem {
	agent := c.query.agent()
	budget := c.query.number("char_budget", math.MaxInt32, 0, math.MaxInt32)
	if c.query.wrong != nil {
		return c.query.wrong
	}
	m, err := c.g.queries.memory(c.r.Context(), c.session, agent)
	if err != nil {
		return asProblem(err)
	}
	if m.EventCount == 0 {
		if p := c.exists(agent); p != nil {
			return p
		}
	}
	c.w.Header().Set("Vary", "Accept")
	if !accepts(c.r.Header.Values("Accept"), "text/markdown") {
		return c.body(m.AppendJSON(nil))
	}
	c.patience()
	c.w.Header().Set("Content-Type", "text/markdown; charset=utf-8")
	c.w.Header().Set("Cache-Control", "no-store")
	_, _ = c.w.Write([]byte(memory.Render(m, budget))) // the client may have gone
	return nil
}

// accepts tells whether a type is named among those a client takes.
func accepts(headers []string, want string) bool {
	for _, h := range headers {
		for _, one := range splitList(h) {
			t, params, err := mime.ParseMediaType(strings.TrimSpace(one))
			q, weighted := params["q"]
			if err == nil && t == want && (!weighted || strings.Trim(q, "0.") != "") {
				return true
			}
		}
	}
	return false
}

// exists tells by its problem that there is no such agent.
func (c *call) exists(a events.AgentID) *problem {
	_, release, p := c.feed(a)
	if p == nil {
		release()
	}
	return p
}
