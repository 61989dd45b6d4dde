package memory

import (
	"slices"
	"strconv"
	"strings"

	"github.com/stenohq/steno/pkg/internal/facts"
)

// maxUnsettled bounds the calls that are remembered as open.
const maxUnsettled = 1000

// Fold is the session memory as it grows with the log. The zero value is that
// of an empty log. One goroutine uses it at a time.
type Fold struct {
	events      uint64
	firstID     string
	firstSeq    uint64
	firstStep   int
	lastID      []byte
	lastSeq     uint64
	lastStep    int
	goal        mark // of goal.updated, while it lasts
	asked       mark // the latest user message
	completed   list
	decisions   list
	failed      list
	verified    list
	todos       []mark
	unsettled   []unsettled
	todoDropped int
}

// mark is a remembered text with its source.
type mark struct {
	text   string
	source Source
	key    string // what later ones are merged into it by
	count  int
}

// list holds the newest marks.
type list struct {
	marks   []mark
	dropped int
}

// unsettled is a call that is pending or uncertain.
type unsettled struct {
	run, id, name string
	uncertain     bool
	source        Source
}

// Event counts one admitted event; its facts follow by Fact. An event without
// an id is known by its seq.
func (f *Fold) Event(id string, seq uint64, step int) {
	f.lastID = append(f.lastID[:0], id...)
	if id == "" {
		f.lastID = strconv.AppendUint(append(f.lastID, 'q'), seq, 10)
		id = string(f.lastID)
	}
	f.lastSeq, f.lastStep = seq, step
	if f.events++; f.events == 1 {
		f.firstID, f.firstSeq, f.firstStep = strings.Clone(id), seq, step
	}
}

// Fact folds one fact of the event last counted.
func (f *Fold) Fact(one *facts.Fact) {
	switch one.Kind {
	case facts.Call, facts.Withdrawn, facts.Decided:
		f.call(one)
	case facts.Message:
		f.message(one)
	case facts.Final:
		f.completed.add(newMark("Assistant produced final response: "+one.Text, one))
	case facts.Todos:
		f.todo(one)
	case facts.Goal:
		f.goal = mark{}
		if one.Status != "" {
			f.goal = mark{text: cut(one.Text, MaxGoal), source: sourceOf(one)}
		}
	default:
		f.event(one)
	}
}

func (f *Fold) event(one *facts.Fact) {
	switch one.Kind {
	case facts.Checkpoint:
		f.decisions.once(newMark("Created compact checkpoint "+one.ID, one))
	case facts.Plan:
		f.decisions.add(newMark("Plan v"+strconv.Itoa(one.Turn)+" at "+one.Text, one))
	case facts.Approval:
		f.approval(one)
	case facts.Transition:
		f.transition(one)
	case facts.TurnFailed:
		f.failed.add(newMark("Turn "+one.ID+" failed: "+one.Text, one))
	case facts.Terminal:
		f.verified.add(newMark("Run ended with terminal reason "+one.Text+".", one))
	case facts.Child:
		if one.Status == "completed" {
			f.completed.add(newMark("Sub-agent "+one.ID+": "+one.Text, one))
		}
	default: // matters to resume only
	}
}

func (f *Fold) message(one *facts.Fact) {
	switch {
	case one.Role == "user" && one.Source != "completion_gate":
		f.asked = mark{text: cut(facts.Text(one.Content), MaxGoal), source: sourceOf(one)}
	case one.Role == "assistant" && !one.Live && (one.Action == "final" || one.Action == "final_unverified"):
		f.completed.add(newMark("Assistant produced final response: "+facts.Text(one.Content), one))
	}
}

func (f *Fold) transition(one *facts.Fact) {
	switch one.Text {
	case "stop_hook_blocking":
		f.verified.add(newMark("Completion gate blocked finalization pending verification.", one))
	case "model_recovery_failed":
		f.failed.add(newMark("Model recovery failed and required terminal fallback.", one))
	}
}

func (f *Fold) approval(one *facts.Fact) {
	name, id := "request", one.ID
	if one.CallID != "" {
		name, id = one.Name, one.CallID
	}
	verb := "Refused "
	if one.Status == "approved" {
		verb = "Approved "
	}
	f.decisions.add(newMark(verb+label(name, id)+".", one))
}

// call follows a call from class to class.
func (f *Fold) call(one *facts.Fact) {
	if one.Was == one.Is {
		return
	}
	id := cut(one.CallID, MaxItem)
	i := slices.IndexFunc(f.unsettled, func(u unsettled) bool { return u.run == one.Run && u.id == id })
	switch one.Is {
	case "pending", "uncertain":
		if i < 0 {
			if len(f.unsettled) >= maxUnsettled {
				f.unsettled = slices.Delete(f.unsettled, 0, 1)
			}
			f.unsettled = append(f.unsettled, unsettled{run: strings.Clone(one.Run), id: id, source: sourceOf(one)})
			i = len(f.unsettled) - 1
		}
		u := &f.unsettled[i]
		u.name, u.uncertain = cut(one.Name, MaxItem), one.Is == "uncertain"
		u.source.end(one)
		return
	case "completed":
		f.completed.merge(one)
	case "failed":
		f.failed.add(newMark("Failed tool "+label(one.Name, one.CallID)+": "+reason(one.Error), one))
	}
	if i >= 0 {
		f.unsettled = slices.Delete(f.unsettled, i, i+1)
	}
}

func reason(e *facts.Error) string {
	switch {
	case e == nil || e.Code == "" && e.Message == "":
		return "no reason was recorded."
	case e.Code == "":
		return e.Message
	case e.Message == "":
		return e.Code
	}
	return e.Code + " " + e.Message
}

// label names a call.
func label(name, id string) string { return name + " (" + id + ")" }

// todo takes the open items of a todo document.
func (f *Fold) todo(one *facts.Fact) {
	f.todos, f.todoDropped = nil, 0
	for _, item := range one.Todos {
		if item.Status != "done" {
			f.todos = append(f.todos, newMark(item.Title, one))
		}
	}
	if extra := len(f.todos) - MaxTodos; extra > 0 {
		f.todos, f.todoDropped = slices.Clone(f.todos[extra:]), extra
	}
}

func newMark(text string, one *facts.Fact) mark {
	return mark{text: cut(text, MaxItem), source: sourceOf(one), count: 1}
}

func sourceOf(one *facts.Fact) Source {
	id := strings.Clone(one.EventID)
	return Source{StartEventID: id, EndEventID: id, StartStep: one.Step, EndStep: one.Step, StartSeq: one.Seq, EndSeq: one.Seq}
}

// end lets the span reach to another event.
func (s *Source) end(one *facts.Fact) {
	s.EndEventID, s.EndStep, s.EndSeq = strings.Clone(one.EventID), one.Step, one.Seq
}

func (l *list) add(m mark) {
	if len(l.marks) >= MaxItems {
		l.marks = slices.Delete(l.marks, 0, 1)
		l.dropped++
	}
	l.marks = append(l.marks, m)
}

// once adds what the list does not hold yet.
func (l *list) once(m mark) {
	if !slices.ContainsFunc(l.marks, func(o mark) bool { return o.text == m.text }) {
		l.add(m)
	}
}

// merge counts a completed tool; those of one name are one item, at the place
// of the last.
func (l *list) merge(one *facts.Fact) {
	m := newMark("", one)
	m.key = cut(one.Name, MaxItem)
	if i := slices.IndexFunc(l.marks, func(o mark) bool { return o.key == m.key && o.key != "" }); i >= 0 {
		m.count = l.marks[i].count + 1
		m.source = l.marks[i].source
		m.source.end(one)
		l.marks = slices.Delete(l.marks, i, i+1)
	}
	text := "Completed tool " + label(one.Name, one.CallID) + "."
	if m.count > 1 {
		text = "Completed tool " + one.Name + " ×" + strconv.Itoa(m.count) + " (last " + one.CallID + ")."
	}
	m.text = cut(text, MaxItem)
	l.add(m)
}

// cut shortens a text to so many code points, the "…" behind it not counted.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return strings.Clone(s)
	}
	n := 0
	for i := range s {
		if n == limit {
			return s[:i] + "…"
		}
		n++
	}
	return strings.Clone(s)
}
