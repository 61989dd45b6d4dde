package events

// SessionID names a session: 1–128 of [A-Za-z0-9._-], not "." or "..".
type SessionID string

// AgentID names an agent within a session, by the same rule.
type AgentID string

// MainAgent is the agent that events belong to when none is named.
const MainAgent AgentID = "main"
