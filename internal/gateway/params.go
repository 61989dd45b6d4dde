package gateway

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"

	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/grade"
)

// maxPage is the largest page of turns.
const maxPage = 100

// What comes from outside is checked here, before it can reach a subject, a
// key or a path.

func sessionID(s string) (events.SessionID, *problem) {
	id, err := events.ParseSessionID(s)
	if err != nil {
		return "", badRequest("bad_session_id", "session id "+shown(s)+": "+events.ErrID.Error())
	}
	return id, nil
}

func agentID(s string) (events.AgentID, *problem) {
	id, err := events.ParseAgentID(s)
	if err != nil {
		return "", badRequest("bad_agent_id", "agent id "+shown(s)+": "+events.ErrID.Error())
	}
	return id, nil
}

func parseGrade(s string) (grade.Grade, *problem) {
	g, err := grade.Parse(s)
	if err != nil {
		return grade.Off, badRequest("bad_grade", "grade "+shown(s)+" is not off, turn, block or delta")
	}
	return g, nil
}

func parseSeq(name, s string) (uint64, *problem) {
	n, err := strconv.ParseUint(s, 10, 63)
	if err != nil {
		return 0, badRequest("bad_parameter", name+" is "+shown(s)+"; it must be a whole number from 0")
	}
	return n, nil
}

// shown quotes what a client sent, shortened.
func shown(s string) string {
	if len(s) > 40 {
		return fmt.Sprintf("%q… (%d bytes)", s[:40], len(s))
	}
	return strconv.Quote(s)
}

// query reads the parameters of a request and keeps the first that is wrong.
type query struct {
	url.Values
	wrong *problem
}

// one returns a parameter that may be given once.
func (q *query) one(name string) (string, bool) {
	v, ok := q.Values[name]
	if len(v) > 1 {
		q.fail(badRequest("bad_parameter", name+" is given more than once"))
	}
	if !ok || len(v) == 0 {
		return "", false
	}
	return v[0], true
}

func (q *query) fail(p *problem) {
	if q.wrong == nil && p != nil {
		q.wrong = p
	}
}

// agent is the parameter agent_id, main when absent.
func (q *query) agent() events.AgentID {
	s, ok := q.one("agent_id")
	if !ok {
		return events.MainAgent
	}
	id, p := agentID(s)
	q.fail(p)
	return id
}

func (q *query) grade(def grade.Grade) grade.Grade {
	s, ok := q.one("grade")
	if !ok {
		return def
	}
	g, p := parseGrade(s)
	q.fail(p)
	return g
}

func (q *query) seq(name string) (uint64, bool) {
	s, ok := q.one(name)
	if !ok {
		return 0, false
	}
	n, p := parseSeq(name, s)
	q.fail(p)
	return n, p == nil
}

// number is a whole number from lo to hi, def when absent.
func (q *query) number(name string, def, lo, hi int) int {
	s, ok := q.one(name)
	if !ok {
		return def
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < lo || n > hi {
		q.fail(badRequest("bad_parameter", fmt.Sprintf("%s is %s; it must be from %d to %d", name, shown(s), lo, hi)))
		return def
	}
	return n
}

// capability tells whether the comma-separated parameter capabilities has one.
func (q *query) capability(name string) bool {
	s, _ := q.one("capabilities")
	return slices.Contains(splitList(s), name)
}
