package events

import (
	"hash/fnv"
	"strconv"
	"strings"
)

// Subject prefixes, each with its last dot. What stands behind them is said in
// FORMAT.md.
const (
	PrefixPublish  = "steno.events."   // <session>.<agent>
	PrefixStored   = "steno.ev."       // <slot>.<session>.<agent>
	PrefixLive     = "steno.live."     // <slot>.<session>.<agent>
	PrefixCommands = "steno.commands." // <session>.<agent>
	PrefixQuery    = "steno.query."    // <session>.<agent>.<resume|memory|runs>
	PrefixAlive    = "steno.alive."    // <session>.<agent>

	SubjectBlobPut = "steno.blob.put"
	SubjectBlobGet = "steno.blob.get"
)

// Token returns the session id as one subject token, also usable in a key of a
// key-value bucket: a dot is written =2E.
func (id SessionID) Token() string { return token(string(id)) }

// Token returns the agent id as one subject token, as SessionID.Token does.
func (id AgentID) Token() string { return token(string(id)) }

func token(id string) string { return strings.ReplaceAll(id, ".", "=2E") }

// ParseSessionToken is the inverse of SessionID.Token. Only the form that
// Token writes is accepted, so that an agent log has exactly one subject.
func ParseSessionToken(tok string) (SessionID, error) { return ParseSessionID(untoken(tok)) }

// ParseAgentToken is the inverse of AgentID.Token.
func ParseAgentToken(tok string) (AgentID, error) { return ParseAgentID(untoken(tok)) }

// untoken returns "=" for what token never writes: no id holds it.
func untoken(tok string) string {
	if strings.IndexByte(tok, '.') >= 0 {
		return "="
	}
	return strings.ReplaceAll(tok, "=2E", ".")
}

// Slot returns the session's slot among slots: FNV-1a-32 of the session's
// token, as the server's partition() mapping computes it. slots must be above
// 0.
func (id SessionID) Slot(slots int) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(id.Token())) // a hash's Write never fails
	return int(h.Sum32() % uint32(slots))
}

// PublishSubject is where runtimes publish an agent's events.
func PublishSubject(s SessionID, a AgentID) string { return PrefixPublish + logTokens(s, a) }

// CommandSubject is where a runtime listens for commands to an agent.
func CommandSubject(s SessionID, a AgentID) string { return PrefixCommands + logTokens(s, a) }

// AliveSubject is where a runtime sends an agent's heartbeat.
func AliveSubject(s SessionID, a AgentID) string { return PrefixAlive + logTokens(s, a) }

// QuerySubject is where a gateway answers what: resume, memory or runs.
func QuerySubject(s SessionID, a AgentID, what string) string {
	return PrefixQuery + logTokens(s, a) + "." + what
}

// StoredSubject is where an agent's events are stored.
func StoredSubject(slot int, s SessionID, a AgentID) string {
	return PrefixStored + strconv.Itoa(slot) + "." + logTokens(s, a)
}

// LiveSubject is where the server repeats an agent's events once stored.
func LiveSubject(slot int, s SessionID, a AgentID) string {
	return PrefixLive + strconv.Itoa(slot) + "." + logTokens(s, a)
}

func logTokens(s SessionID, a AgentID) string { return s.Token() + "." + a.Token() }

// ParsePublishSubject is the inverse of PublishSubject.
func ParsePublishSubject(subject string) (SessionID, AgentID, error) {
	return parseLog(subject, PrefixPublish)
}

// ParseCommandSubject is the inverse of CommandSubject.
func ParseCommandSubject(subject string) (SessionID, AgentID, error) {
	return parseLog(subject, PrefixCommands)
}

// ParseAliveSubject is the inverse of AliveSubject.
func ParseAliveSubject(subject string) (SessionID, AgentID, error) {
	return parseLog(subject, PrefixAlive)
}

// ParseQuerySubject is the inverse of QuerySubject.
func ParseQuerySubject(subject string) (s SessionID, a AgentID, what string, err error) {
	i := strings.LastIndexByte(subject, '.')
	if i < 0 {
		return "", "", "", subjectError(subject, PrefixQuery)
	}
	s, a, err = parseLog(subject[:i], PrefixQuery)
	return s, a, subject[i+1:], err
}

// ParseStoredSubject is the inverse of StoredSubject.
func ParseStoredSubject(subject string) (slot int, s SessionID, a AgentID, err error) {
	return parseSlotted(subject, PrefixStored)
}

// ParseLiveSubject is the inverse of LiveSubject.
func ParseLiveSubject(subject string) (slot int, s SessionID, a AgentID, err error) {
	return parseSlotted(subject, PrefixLive)
}

func parseSlotted(subject, prefix string) (int, SessionID, AgentID, error) {
	rest, ok := strings.CutPrefix(subject, prefix)
	number, rest, dot := strings.Cut(rest, ".")
	slot, err := strconv.Atoi(number)
	if !ok || !dot || err != nil || slot < 0 || strconv.Itoa(slot) != number {
		return 0, "", "", subjectError(subject, prefix+"<slot>.")
	}
	s, a, err := parseLog(rest, "")
	if err != nil {
		return 0, "", "", err
	}
	return slot, s, a, nil
}

func parseLog(subject, prefix string) (SessionID, AgentID, error) {
	rest, ok := strings.CutPrefix(subject, prefix)
	session, agent, dot := strings.Cut(rest, ".")
	if !ok || !dot {
		return "", "", subjectError(subject, prefix)
	}
	s, err := ParseSessionToken(session)
	if err != nil {
		return "", "", err
	}
	a, err := ParseAgentToken(agent)
	if err != nil {
		return "", "", err
	}
	return s, a, nil
}

func subjectError(subject, prefix string) error {
	return &FieldError{
		Field:   "subject",
		Problem: strconv.Quote(subject) + " is not " + prefix + "<session>.<agent>",
		err:     ErrID,
	}
}
