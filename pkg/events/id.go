package events

import "errors"

// SessionID names a session: 1–128 of [A-Za-z0-9._-], not "." or "..".
type SessionID string

// AgentID names an agent within a session, by the same rule.
type AgentID string

// MainAgent is the agent that events belong to when none is named.
const MainAgent AgentID = "main"

// ErrID is wrapped by the errors of ParseSessionID, ParseAgentID and of the
// subject parsers.
var ErrID = errors.New("an id is 1 to 128 of A-Z a-z 0-9 . _ - other than . and .. alone")

// ParseSessionID checks a session id that came from outside.
func ParseSessionID(s string) (SessionID, error) {
	if err := checkID(s); err != nil {
		return "", &FieldError{Field: "session_id", Problem: err.Error(), err: ErrID}
	}
	return SessionID(s), nil
}

// ParseAgentID checks an agent id that came from outside.
func ParseAgentID(s string) (AgentID, error) {
	if err := checkID(s); err != nil {
		return "", &FieldError{Field: "agent_id", Problem: err.Error(), err: ErrID}
	}
	return AgentID(s), nil
}

func (id SessionID) String() string { return string(id) }

func (id AgentID) String() string { return string(id) }

func checkID(s string) error {
	switch {
	case s == "":
		return errors.New("is empty; " + ErrID.Error())
	case len(s) > MaxID:
		return errors.New("is longer than 128; " + ErrID.Error())
	case s == "." || s == "..":
		return errors.New("is a directory name; " + ErrID.Error())
	}
	for i := range len(s) {
		if !idByte(s[i]) {
			return errors.New("has a character that is not allowed; " + ErrID.Error())
		}
	}
	return nil
}

func idByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
		c == '.' || c == '_' || c == '-'
}
