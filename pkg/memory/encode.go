package memory

import (
	"strconv"

	"github.com/stenohq/steno/pkg/events/scan"
)

// AppendJSON appends the memory as one JSON object, deterministically: members
// in the order of the struct.
func (m *Memory) AppendJSON(dst []byte) []byte {
	dst = strconv.AppendInt(append(dst, `{"schema_version":`...), int64(m.SchemaVersion), 10)
	dst = strconv.AppendUint(append(dst, `,"version":`...), m.Version, 10)
	dst = strconv.AppendUint(append(dst, `,"event_count":`...), m.EventCount, 10)
	dst = scan.AppendQuote(append(dst, `,"last_event_id":`...), m.LastEventID)
	dst = strconv.AppendUint(append(dst, `,"last_seq":`...), m.LastSeq, 10)
	dst = m.Source.appendJSON(append(dst, `,"source":`...))
	dst = append(dst, `,"current_goal":`...)
	if m.CurrentGoal == nil {
		dst = append(dst, "null"...)
	} else {
		dst = m.CurrentGoal.appendJSON(dst)
	}
	dst = appendItems(dst, "completed_work", m.CompletedWork)
	dst = appendItems(dst, "key_decisions", m.KeyDecisions)
	dst = appendItems(dst, "failed_attempts", m.Failed)
	dst = appendItems(dst, "todo_items", m.Todos)
	dst = appendItems(dst, "verification_status", m.Verification)
	dst = strconv.AppendInt(append(dst, `,"dropped":{"completed_work":`...), int64(m.Dropped.CompletedWork), 10)
	dst = strconv.AppendInt(append(dst, `,"key_decisions":`...), int64(m.Dropped.KeyDecisions), 10)
	dst = strconv.AppendInt(append(dst, `,"failed_attempts":`...), int64(m.Dropped.Failed), 10)
	dst = strconv.AppendInt(append(dst, `,"todo_items":`...), int64(m.Dropped.Todos), 10)
	dst = strconv.AppendInt(append(dst, `,"verification_status":`...), int64(m.Dropped.Verification), 10)
	return append(dst, "}}"...)
}

func appendItems(dst []byte, name string, items []Item) []byte {
	dst = append(append(append(dst, ',', '"'), name...), `":[`...)
	for i := range items {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = items[i].appendJSON(dst)
	}
	return append(dst, ']')
}

func (it *Item) appendJSON(dst []byte) []byte {
	dst = scan.AppendQuote(append(dst, `{"text":`...), it.Text)
	dst = it.Source.appendJSON(append(dst, `,"source":`...))
	if it.Count > 0 {
		dst = strconv.AppendInt(append(dst, `,"count":`...), int64(it.Count), 10)
	}
	return append(dst, '}')
}

func (s *Source) appendJSON(dst []byte) []byte {
	dst = scan.AppendQuote(append(dst, `{"start_event_id":`...), s.StartEventID)
	dst = scan.AppendQuote(append(dst, `,"end_event_id":`...), s.EndEventID)
	dst = strconv.AppendInt(append(dst, `,"start_step":`...), int64(s.StartStep), 10)
	dst = strconv.AppendInt(append(dst, `,"end_step":`...), int64(s.EndStep), 10)
	dst = strconv.AppendUint(append(dst, `,"start_seq":`...), s.StartSeq, 10)
	dst = strconv.AppendUint(append(dst, `,"end_seq":`...), s.EndSeq, 10)
	return append(dst, '}')
}
