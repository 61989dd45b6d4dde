// Package memory derives from an agent's log the small memory that a runtime
// carries from run to run: what is wanted, what is done, what failed, what is
// open. It is a pure fold of the facts that pkg/resume reads, bounded in every
// direction; continuing from an encoded state gives the same as folding from
// the start.
package memory

import (
	"encoding/json"
	"fmt"
)

// SchemaVersion is that of the Memory this package makes.
const SchemaVersion = 1

// The bounds. Lengths of texts are in Unicode code points.
const (
	MaxGoal  = 2000
	MaxItem  = 400
	MaxItems = 20 // of each list but the todos
	MaxTodos = 50
	MaxJSON  = 16 << 10 // bytes of a Memory as JSON
)

// Memory is the session memory. It is immutable.
type Memory struct {
	SchemaVersion int     `json:"schema_version"`
	Version       uint64  `json:"version"` // = EventCount
	EventCount    uint64  `json:"event_count"`
	LastEventID   string  `json:"last_event_id"`
	LastSeq       uint64  `json:"last_seq"`
	Source        Source  `json:"source"` // first to last event
	CurrentGoal   *Item   `json:"current_goal"`
	CompletedWork []Item  `json:"completed_work"`
	KeyDecisions  []Item  `json:"key_decisions"`
	Failed        []Item  `json:"failed_attempts"`
	Todos         []Item  `json:"todo_items"`
	Verification  []Item  `json:"verification_status"`
	Dropped       Dropped `json:"dropped"`
}

// Item is one remembered text and where it comes from.
type Item struct {
	Text   string `json:"text"`
	Source Source `json:"source"`
	Count  int    `json:"count,omitempty"` // of what was merged into it; absent = 1
}

// Source spans the events that something comes from.
type Source struct {
	StartEventID string `json:"start_event_id"`
	EndEventID   string `json:"end_event_id"`
	StartStep    int    `json:"start_step"`
	EndStep      int    `json:"end_step"`
	StartSeq     uint64 `json:"start_seq"`
	EndSeq       uint64 `json:"end_seq"`
}

// Dropped counts the items that a list no longer holds.
type Dropped struct {
	CompletedWork int `json:"completed_work"`
	KeyDecisions  int `json:"key_decisions"`
	Failed        int `json:"failed_attempts"`
	Todos         int `json:"todo_items"`
	Verification  int `json:"verification_status"`
}

// Parse reads a Memory from JSON. Unknown members are ignored; a newer schema
// version is not an error.
func Parse(data []byte) (*Memory, error) {
	m := new(Memory)
	if err := json.Unmarshal(data, m); err != nil {
		return nil, fmt.Errorf("parse session memory: %w", err)
	}
	return m, nil
}
