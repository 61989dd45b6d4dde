package kimi

import (
	"strings"

	"github.com/stenohq/steno/internal/importer"
	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/events/scan"
)

// facts handles the records about what surrounds the turns.
func (d *decoder) facts(r *record) bool {
	switch r.kind {
	case "tools.update_store":
		return d.store(r)
	case "goal.create", "goal.set", "goal.update", "goal.status", "goal.account_usage", "goal.clear":
		d.goalRecord(r)
	case "plan_mode.enter", "plan_mode.exit", "plan_mode.cancel", "plan.revision",
		"swarm_mode.enter", "swarm_mode.exit", "tower_mode.enter", "tower_mode.exit",
		"interaction.request", "interaction.resolved":
		r.same()
	case "subagent.spawned", "subagent.started", "subagent.completed", "subagent.failed", "subagent.suspended":
		d.subagent(r)
	case "task.started", "task.terminated":
		d.task(r)
	case "full_compaction.begin", "full_compaction.complete", "full_compaction.cancel", "context.apply_compaction":
		d.compaction(r)
	case "config.update", "profile.bind", "permission.set_mode", "token_counting.measured":
		return d.status(r)
	default:
		return false
	}
	return true
}

// store is a tool's memory, of which the todo list is shown.
func (d *decoder) store(r *record) bool {
	if r.Str("key") != "todo" {
		return false
	}
	items := []byte{'['}
	for list := scan.ArrayOf(r.Object["value"]); list.Next(); {
		o := importer.ObjectOf(list.Value())
		title, ok := scan.Unquote(o["title"])
		status := o.Str("status")
		if !ok || status != "pending" && status != "in_progress" && status != "done" {
			continue
		}
		if len(items) > 1 {
			items = append(items, ',')
		}
		var item importer.Fields
		items = append(items, item.Str("title", title).Str("status", status).Object()...)
	}
	var p importer.Fields
	r.emit(events.TypeTodoUpdated, p.Raw("items", append(items, ']')))
	return true
}

// task is a task's start or end; the call that started it is its frame.
func (d *decoder) task(r *record) {
	info := r.Object.Object("info")
	if info.Str("taskId") == "" {
		r.out.Skip("a task without an id")
		r.pass(r.kind)
		return
	}
	call := info.Str("parentToolCallId")
	if call == "" || info["toolCallId"] != nil {
		r.same()
		return
	}
	var with importer.Fields
	for m := scan.ObjectOf(r.Object["info"]); m.Next(); {
		with.Raw(m.Key(), m.Value())
	}
	with.Str("toolCallId", importer.First(d.calls.Name(call), call))
	r.emit(r.kind, r.payload("info").Raw("info", with.Object()))
}

// compaction tells that the context was replaced, once for each time: the
// record that does it and the one that says it is done are one.
func (d *decoder) compaction(r *record) {
	switch r.kind {
	case "full_compaction.begin":
		d.compacting = true
		r.emit(events.TypeCompactionStarted, r.payload())
	case "full_compaction.cancel":
		d.compacting = false
		r.emit(events.TypeCompactionCancelled, r.payload())
	case "full_compaction.complete":
		if d.compacting {
			r.emit(events.TypeCompactionCompleted, r.payload())
		}
		d.compacting = false
	default:
		d.compacting = false
		if scan.KindOf(r.Object["summary"]) != scan.Object {
			r.emit(events.TypeCompactionCompleted, r.payload())
			return
		}
		p := r.payload("summary")
		if r.Object["contextSummary"] == nil {
			p.Str("contextSummary", importer.TextOf(importer.PartsOf(r.Object.Object("summary")["content"])))
		}
		r.emit(events.TypeCompactionCompleted, p)
	}
}

// goal is the goal as its records add up to.
type goal struct {
	objective string
	criterion []byte
	status    string
	tokens    []byte
	budget    []byte
}

// goalRecord folds a record into the goal and publishes it. 1.4 has other
// names: goal.set, goal.status and goal.account_usage.
func (d *decoder) goalRecord(r *record) {
	switch r.kind {
	case "goal.clear":
		d.goal = nil
		var p importer.Fields
		r.emit(events.TypeGoalUpdated, p.Raw("snapshot", []byte("null")))
		return
	case "goal.create", "goal.set":
		d.goal = &goal{
			objective: strings.Clone(r.Str("objective")), status: "active", tokens: []byte("0"),
		}
		if scan.KindOf(r.Object["completionCriterion"]) == scan.String {
			d.goal.criterion = r.Object["completionCriterion"]
		}
	}
	g := d.goal
	if g == nil {
		r.pass(r.kind) // of a goal that is not in the log
		return
	}
	switch status := r.Str("status"); status {
	case "active", "paused", "blocked", "complete":
		g.status = strings.Clone(status)
	}
	if n := r.Number("tokensUsed"); n != nil {
		g.tokens = n
	}
	if n := r.Object.Object("budgetLimits").Number("tokenBudget"); n != nil {
		g.budget = n
	}
	var snapshot, budget, p importer.Fields
	limit := g.budget
	if limit == nil {
		limit = []byte("null")
	}
	snapshot.Str("objective", g.objective).Str("status", g.status).Raw("completionCriterion", g.criterion).
		Raw("tokensUsed", g.tokens).Raw("budget", budget.Raw("tokenBudget", limit).Object())
	r.emit(events.TypeGoalUpdated, p.Raw("snapshot", snapshot.Object()))
}
