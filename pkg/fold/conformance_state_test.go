package fold_test

import (
	"strings"
	"testing"
)

func TestP32(t *testing.T) {
	w := newWorld(t).add(ev("goal.updated", `{"snapshot":{"objective":"ship","status":"active","completionCriterion":"green","tokensUsed":10,"budget":{"tokenBudget":100}}}`)).want(
		"meta/goal", `{"budgetLimit":100,"budgetUsed":10,"completionCriterion":"green","objective":"ship","status":"active"}`,
		"items/goal/payload/snapshot/objective", "ship")
	w.add(ev("goal.updated", `{"snapshot":null}`)).want("meta/goal", "", "items/#", "2")
	if got := w.ops(1); !strings.HasPrefix(got[0], `{"op":"meta.merge","meta":{"goal":null}`) {
		t.Errorf("first operation %s", got[0])
	}
}

// L38a as a fold rule: one marker for each change, the goal at the end.
func TestL38(t *testing.T) {
	newWorld(t).add(
		ev("goal.updated", `{"snapshot":{"objective":"o","status":"active","tokensUsed":0,"budget":{"tokenBudget":null}}}`),
		ev("goal.updated", `{"snapshot":{"objective":"o","status":"blocked","tokensUsed":5,"budget":{"tokenBudget":null}}}`),
		ev("goal.updated", `{"snapshot":{"objective":"o","status":"blocked","tokensUsed":5,"budget":{"tokenBudget":9}}}`),
	).want("meta/goal", `{"budgetLimit":9,"budgetUsed":5,"objective":"o","status":"blocked"}`, "items/#", "3", "items/2/markerId", "m3", "items/2/at", stamp(3))
}

func TestP33(t *testing.T) {
	newWorld(t).add(ev("agent.status.updated", `{"planMode":true,"swarmMode":true}`)).want("meta/modes", `{"plan":{},"swarm":{}}`).
		add(ev("agent.status.updated", `{"planMode":false}`)).want("meta/modes", `{"swarm":{}}`).
		add(ev("agent.status.updated", `{"swarmMode":false}`)).want("meta/modes", "")
}

func TestP34(t *testing.T) {
	newWorld(t).add(ev("agent.status.updated", `{"towerMode":true}`)).want("meta/modes", `{"tower":{}}`).
		add(ev("agent.status.updated", `{"towerMode":false}`)).want("meta/modes", "")
}

func TestP35(t *testing.T) {
	w := newWorld(t).add(
		ev("agent.status.updated", `{"model":"m","permission":"manual"}`), ev("agent.status.updated", `{"contextTokens":5,"maxContextTokens":10,"contextUsage":0.5,"thinkingEffort":"high"}`),
	).want("meta/agent", `{"contextTokens":5,"contextUsage":0.5,"maxContextTokens":10,"model":"m","permission":"manual","thinkingEffort":"high"}`)
	w.add(ev("agent.status.updated", `{"usage":{"total":{"a":12345678901234567890}}}`)).want("meta/agent/usage/total", `{"a":12345678901234567890}`, "meta/agent/model", "m")
	if w.kinds() != "meta.merge" {
		t.Errorf("operations %s", w.kinds())
	}
}

func TestP36(t *testing.T) {
	turn := func(fields string) string {
		return `{"lifecycle":"ready","background":[],"turn":{"turnId":3,"step":2,"since":50,"ending":false,"pendingApprovals":[],"activeToolCalls":[]` + fields + `}}`
	}
	w := newWorld(t).add(ev("agent.activity.updated", turn(`,"phase":"running"`))).want(
		"meta/activity", "turn", "meta/agent/phase", `{"kind":"running","since":50,"step":2,"stepId":"","turnId":3}`)
	w.add(ev("agent.activity.updated", turn(`,"phase":"streaming","stream":"thinking"`))).want(
		"meta/agent/phase", `{"kind":"streaming","since":50,"step":2,"stepId":"","stream":"thinking","turnId":3}`)
	w.add(ev("agent.activity.updated", turn(`,"phase":"tool_call","activeToolCalls":[{"toolCallId":"c","name":"Bash","since":60}]`))).want(
		"meta/agent/phase", `{"kind":"tool_call","name":"Bash","since":60,"step":2,"toolCallId":"c","turnId":3}`)
	w.add(ev("agent.activity.updated", turn(`,"phase":"retrying","retry":{"failedAttempt":1,"nextAttempt":2,"maxAttempts":3,"delayMs":4}`))).want(
		"meta/agent/phase", `{"delayMs":4,"failedAttempt":1,"kind":"retrying","maxAttempts":3,"nextAttempt":2,"since":50,"step":2,"stepId":"","turnId":3}`)
	w.add(ev("agent.activity.updated", turn(`,"phase":"running","pendingApprovals":[{"approvalId":"a","since":70}]`))).want(
		"meta/agent/phase", `{"approval":{"approvalId":"a","since":70},"kind":"awaiting_approval","since":70,"step":2,"turnId":3}`)
	w.add(ev("agent.activity.updated", `{"lifecycle":"ready","lastTurn":{"turnId":3,"reason":"completed","durationMs":9,"at":99}}`)).want(
		"meta/activity", "idle", "meta/agent/phase", `{"at":99,"durationMs":9,"kind":"ended","reason":"completed","turnId":3}`)
	w.add(ev("agent.activity.updated", `{"lifecycle":"ready"}`)).want("meta/agent/phase", `{"kind":"idle"}`)
	w.add(ev("agent.activity.updated", `{"lifecycle":"disposed"}`))
	if w.kinds() != "" {
		t.Errorf("disposed made %s", w.kinds())
	}
	w.add(ev("agent.activity.updated", `{"activity":"turn","phase":{"kind":"interrupted","turnId":1,"reason":"max_steps","at":5}}`)).want(
		"meta/activity", "turn", "meta/agent/phase", `{"at":5,"kind":"interrupted","reason":"max_steps","turnId":1}`)
	w.add(ev("agent.activity.updated", `{"phase":{"kind":"streaming","turnId":1,"step":1,"stepId":"x","since":1,"stream":"odd"}}`)).want(
		"meta/agent/phase/kind", "interrupted", "items/notice/payload/field", "phase.stream")
}

// P37, L40, L42.
func TestP37(t *testing.T) {
	newWorld(t).add(
		ev("plan.revision", `{"id":"r1","version":1,"path":"plan.md","sha256":"x","bytes":3}`)).want("meta/modes", "", "items/#", "1").
		add(ev("plan_mode.enter", `{}`)).want("meta/modes", `{"plan":{}}`).
		add(ev("plan.revision", `{"id":"r2","version":2,"path":"plan.md","sha256":"y","bytes":4}`)).want("meta/modes/plan", `{"reviewPath":"plan.md","version":2}`,
		"items/2/marker", "plan.revision", "items/2/payload", `{"bytes":4,"id":"r2","path":"plan.md","sha256":"y","version":2}`).
		add(ev("agent.status.updated", `{"planMode":true}`)).want("meta/modes/plan/version", "2").
		add(ev("plan_mode.exit", `{}`)).want("meta/modes", "", "items/#", "4").
		add(ev("plan_mode.enter", `{}`)).want("meta/modes/plan", `{}`)
}

func TestL40(t *testing.T) {
	newWorld(t).add(ev("plan_mode.enter", `{}`), ev("swarm_mode.enter", `{"trigger":"manual"}`), ev("plan_mode.exit", `{}`)).want(
		"meta/modes", `{"swarm":{"trigger":"manual"}}`, "items/0/marker", "plan.enter", "items/1/marker", "swarm.enter", "items/2/marker", "plan.exit")
	newWorld(t).add(ev("plan_mode.enter", `{}`), ev("plan_mode.cancel", `{}`), ev("swarm_mode.enter", `{}`), ev("swarm_mode.exit", `{}`)).want(
		"meta/modes", "", "items/1/marker", "plan.exit", "items/3/marker", "swarm.exit")
}

func TestL41(t *testing.T) {
	newWorld(t).add(ev("tower_mode.enter", `{}`), ev("tower_mode.exit", `{}`), ev("tower_mode.enter", `{}`)).want("meta/modes", `{"tower":{}}`, "items/#", "0")
}

func TestP38(t *testing.T) {
	newWorld(t).add(
		ev("skill.activated", `{"name":"pdf"}`), ev("plugin_command.activated", `{"name":"c"}`), ev("cron.fired", `{"jobId":"j"}`),
		ev("compaction.started", `{"instruction":"x"}`), ev("compaction.completed", `{"summary":"s"}`),
		ev("hook.result", `{"hook":1e400}`), ev("hook.result", `{"b": [1, 2]}`),
		ev("context.spliced", `{"start":1,"deleteCount":0}`), ev("context.spliced", `{"start":1,"deleteCount":2,"messages":[{"role":"user"}]}`),
	).want(
		"items/#", "8", "items/0/marker", "skill", "items/0/payload", `{"name":"pdf"}`, "items/1/marker", "skill", "items/1/payload", `{"name":"c","variant":"plugin_command"}`,
		"items/2/marker", "cron.fired", "items/3/marker", "compaction", "items/3/payload", `{"instruction":"x","phase":"started"}`,
		"items/4/payload", `{"phase":"completed","summary":"s"}`, "items/5/marker", "hook", "items/5/payload", `{"hook":1e400}`,
		"items/7/marker", "undo", "items/7/payload", `{"deleteCount":2,"start":1}`)
}

func TestP39(t *testing.T) {
	newWorld(t).add(ev("error", `{"message":"bad","code":"E1"}`), ev("warning", `{"message":"hm"}`)).want(
		"items/0/marker", "notice", "items/0/payload", `{"detail":{"code":"E1","message":"bad"},"event":"error","level":"error","message":"bad"}`,
		"items/1/payload", `{"event":"warning","level":"warning","message":"hm"}`)
	newWorld(t).add(ev("steno.skipped", `{"n":4,"event_type":"tool.result","reason":"too large"}`)).want(
		"items/0/payload/message", "event 4 of its run (tool.result) was not recorded: too large")
}

func TestP44(t *testing.T) {
	newWorld(t).add(
		ev("prompt.submitted", `{"promptId":"p1","status":"running","content":"do","createdAt":"2026-01-01T00:00:00Z","userMessageId":"u"}`),
		ev("prompt.submitted", `{"promptId":"p2","status":"queued","content":[1e400]}`),
		ev("prompt.steered", `{"activePromptId":"p1","promptIds":["p2"],"content":"do both"}`),
		ev("prompt.completed", `{"promptId":"p1","reason":"completed","finishedAt":1767225700000}`),
		ev("prompt.aborted", `{"promptId":"x1"}`), ev("prompt.completed", `{"promptId":"x2","reason":"failed"}`),
		ev("prompt.submitted", `{"promptId":"p3","status":"blocked"}`),
	).want(
		"prompts/p1", `{"content":"do both","createdAt":"2026-01-01T00:00:00.000Z","finishedAt":"2026-01-01T00:01:40.000Z","promptId":"p1","status":"completed","steeredAt":"`+stamp(3)+`","userMessageId":"u"}`,
		"prompts/p2", `{"content":[1e400],"createdAt":"`+stamp(2)+`","finishedAt":"`+stamp(3)+`","promptId":"p2","status":"completed"}`,
		"prompts/x1", `{"createdAt":"`+stamp(5)+`","finishedAt":"`+stamp(5)+`","promptId":"x1","status":"aborted"}`,
		"prompts/x2/status", "failed", "prompts/x2/createdAt", stamp(6), "prompts/p3/status", "blocked")
}

func TestRoster(t *testing.T) {
	w := newWorld(t)
	if d := w.live.Descriptor(); d.Type != "main" || w.live.Started() {
		t.Errorf("before agent.started: %+v", d)
	}
	w.add(
		ev("agent.started", `{"type":"main","label":"L"}`, `"labels":{"title":"T","source":"hook","host":"h"}`),
		ev("subagent.spawned", `{"subagentId":"s1","subagentName":"n","parentToolCallId":"c","description":"d","runInBackground":false}`),
		ev("agent.disposed", `{}`))
	if d := w.live.Descriptor(); d.Label.V != "L" || d.CreatedAt != stamp(1) || d.DisposedAt != stamp(3) {
		t.Errorf("%+v", d)
	}
	c := w.live.Children()
	if len(c) != 1 || c[0].AgentID != "s1" || c[0].Type != "sub" || c[0].ParentAgentID != "main" || c[0].ParentToolCallID != "c" || c[0].Label.V != "d" {
		t.Errorf("%+v", c)
	}
	if i := w.live.Info(); i.Title != "T" || i.Source != "hook" || i.Labels["host"] != "h" || !i.Disposed {
		t.Errorf("%+v", i)
	}
}
