package kimi_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stenohq/steno/internal/importer"
	"github.com/stenohq/steno/internal/importer/importertest"
)

// wire writes records a second apart, from 2026-01-01T00:00:01Z on.
func wire(records ...string) string {
	var b strings.Builder
	for i, r := range records {
		fmt.Fprintf(&b, "{%s,\"time\":%d}\n", r, 1767225601000+i*1000)
	}
	return b.String()
}

// Records in short.
func user(text, origin string) string { return userParts(`{"type":"text","text":"`+text+`"}`, origin) }

func userParts(parts, origin string) string {
	if origin != "" {
		origin = `,"origin":` + origin
	}
	return `"type":"context.append_message","message":{"role":"user","content":[` + parts + `],"toolCalls":[]` + origin + `}`
}

func assistant(parts, calls string) string {
	return `"type":"context.append_message","message":{"role":"assistant","content":[` + parts + `],"toolCalls":[` + calls + `]}`
}

func said(text string) string { return assistant(`{"type":"text","text":"`+text+`"}`, "") }

func tool(id, text string) string {
	return `"type":"context.append_message","message":{"role":"tool","toolCallId":"` + id + `","content":[{"type":"text","text":"` + text + `"}],"toolCalls":[]}`
}

func prompt(text, origin string) string {
	return `"type":"turn.prompt","input":[{"type":"text","text":"` + text + `"}],"origin":` + origin
}

func loop(event string) string { return `"type":"context.append_loop_event","event":{` + event + `}` }

// step is a whole step of loop events, with a text.
func step(turn, n int, text string) []string {
	at := fmt.Sprintf(`"turnId":"%d","step":%d,`, turn, n)
	uuid := fmt.Sprintf(`"s%d.%d"`, turn, n)
	return []string{
		loop(`"type":"step.begin",` + at + `"uuid":` + uuid),
		loop(`"type":"content.part",` + at + `"stepUuid":` + uuid + `,"part":{"type":"text","text":"` + text + `"}`),
		loop(`"type":"step.end",` + at + `"uuid":` + uuid + `,"finishReason":"end_turn"`),
	}
}

// turn is a prompt of a user with its second copy and one step.
func turn(id int, text string) []string {
	return append([]string{prompt(text, byUser), user(text, byUser)}, step(id, 1, "re: "+text)...)
}

func all(parts ...any) (list []string) {
	for _, p := range parts {
		switch p := p.(type) {
		case string:
			list = append(list, p)
		case []string:
			list = append(list, p...)
		}
	}
	return list
}

const (
	byUser = `{"kind":"user"}`
	ended  = `"type":"turn.ended",`
)

type line struct {
	name string // begins with the id of the line
	wire []string
	want []string // in this order in the transcript
	not  []string // nowhere in it
}

func (l line) run(t *testing.T) {
	list, report := suite().Decode(importer.Source{Name: "s", Session: "s"}, []byte(wire(l.wire...)))
	importertest.CheckEvents(t, list)
	tree := importertest.Tree(importertest.Fold(t, list, "main"))
	rest := tree
	for _, want := range l.want {
		_, after, ok := strings.Cut(rest, want)
		if !ok {
			t.Errorf("no %q behind what came before, in\n%s", want, tree)
			return
		}
		rest = after
	}
	for _, not := range append(l.not, "notice") {
		if strings.Contains(tree, not) {
			t.Errorf("%q in\n%s", not, tree)
		}
	}
	if len(report.Held) > 0 {
		t.Errorf("held: %+v", report.Held)
	}
}

const (
	image     = `{"type":"image_url","imageUrl":{"url":"data:image/png;base64,AAECAwQF"}}`
	kimiVideo = `{"type":"video_url","videoUrl":{"url":"kimi-file://f1"}}`
	kimiImage = `{"type":"image_url","imageUrl":{"url":"kimi-file://f2?path=%2Ftmp%2Fshot.png"}}`
	slash     = `{"kind":"skill_activation","trigger":"user-slash","skillName":"commit","skillArgs":"now"}`
	byModel   = `{"kind":"skill_activation","trigger":"model-tool","skillName":"commit"}`
)

// TestGrouping: how messages become turns, steps and markers.
func TestGrouping(t *testing.T) {
	for _, l := range []line{
		{
			"L22 a conversation with a tool and a compaction",
			[]string{
				`"type":"context.append_message","message":{"role":"system","content":"be good"}`,
				user("hello", byUser),
				assistant(`{"type":"think","think":"hm"},{"type":"text","text":"look"}`, `{"type":"function","id":"c1","name":"Read","arguments":"{\"path\":\"a\"}"}`),
				tool("c1", "content"), said("done"), user("more", byUser),
				user("the summary", `{"kind":"compaction_summary"}`), user("last", byUser),
			},
			[]string{
				"t0 completed user", `> "hello"`, "t0.1 completed", `thinks: "hm"`, `assistant []: "look"`,
				`done Read c1 in "{\"path\":\"a\"}" out "\"content\""`, "t0.2 completed", `"done"`,
				"t1 cancelled user", `> "more"`, "-- compaction", "the summary", "t2 running user", `> "last"`,
			},
			[]string{"be good", "t3", "t0.3"},
		},
		{
			"L23 a bundled prompt",
			[]string{
				userParts(`{"type":"text","text":"block a"},{"type":"text","text":"block b"},{"type":"text","text":"do it"}`,
					`{"kind":"user","skillActivations":[{"skillName":"a","skillArgs":"x"},{"skillName":"b"}]}`),
				said("ok"),
			},
			[]string{
				`-- skill`, `\"text\":\"block a\"`, `user-slash`, `\"a\",\"skillArgs\":\"x`, `-- skill`, `\"text\":\"block b\"`,
				"t0 completed user", `> "do it"`, "t0.1",
			},
			[]string{"t1", "t0.2"},
		},
		{
			"L24 three attachments",
			[]string{userParts(`{"type":"text","text":"see"},`+image+`,{"type":"image_url","imageUrl":{"url":"https://x/y.png"}},{"type":"file","file":{"name":"n.pdf","mediaType":"application/pdf","fileId":"f9"}}`, byUser), said("ok")},
			[]string{
				"t0 completed", "[t0.att1 t0.att2 t0.att3]", `> "see"`, "attachment t0.att1 image/png - {6 true} <nil>",
				"attachment t0.att2 image/* - {0 false} &{Kind:url URL:https://x/y.png FileID:}", `attachment t0.att3 application/pdf "n.pdf"`,
			},
			[]string{"AAEC"},
		},
		{
			"L25 kimi-file media alone",
			[]string{userParts(kimiVideo+","+kimiImage, byUser), said("ok")},
			[]string{
				"[t0.att1 t0.att2]", `> ""`, "attachment t0.att1 video/*", "&{Kind:session_media URL: FileID:f1}",
				"attachment t0.att2 image/*", "&{Kind:session_media URL: FileID:f2}",
			},
			nil,
		},
		{
			"L26 a skill with an image",
			[]string{userParts(`{"type":"text","text":"commit it"},`+kimiImage, slash), said("ok")},
			[]string{`-- skill`, `\"text\":\"commit it\"`, "t0 completed", "[t0.att1]", `> "commit it"`, "attachment t0.att1 image/*"},
			[]string{"  t1 "},
		},
		{
			"L27 a tag inside a text",
			[]string{userParts(`{"type":"text","text":"see <image path=\"/tmp/a.png\"> here"},{"type":"image_url","imageUrl":{"url":"kimi-file://f3"}}`, byUser), said("ok")},
			[]string{"[t0.att1]", `> "see <image path=\"/tmp/a.png\"> here"`, "attachment t0.att1 image/* - "},
			nil,
		},
		{
			"L28 a tag beside its file",
			[]string{userParts(`{"type":"text","text":"<image path=\"/tmp/shot.png\"></image>"},`+kimiImage, byUser), said("ok")},
			[]string{"[t0.att1]", `> "<image path=\"/tmp/shot.png\"></image>"`, `attachment t0.att1 image/* "shot.png"`, "FileID:f2"},
			nil,
		},
		{
			"L29 tags alone",
			[]string{userParts(`{"type":"text","text":"<image path=\"a\">"},{"type":"text","text":"<video path=\"b\">"},{"type":"text","text":"<file path=\"c\">"}`, byUser), said("ok")},
			[]string{`[]`, `> "<image path=\"a\"><video path=\"b\"><file path=\"c\">"`},
			[]string{"attachment"},
		},
		{
			"L30 a call without a result",
			[]string{user("go", byUser), assistant("", `{"id":"c1","name":"Bash","arguments":"{}"}`)},
			[]string{"running Bash c1"},
			[]string{"done Bash"},
		},
		{
			"L30 and with one",
			[]string{user("go", byUser), assistant("", `{"id":"c1","function":{"name":"Bash","arguments":"{}"}}`), tool("c1", "out")},
			[]string{`done Bash c1 in "{}" out "\"out\""`},
			[]string{"running Bash"},
		},
		{
			"L31 a sub-agent's turn",
			[]string{user("go", byUser), said("ok"), user("look", `{"kind":"system_trigger","name":"subagent"}`), said("found")},
			[]string{"t0 completed user", "t1 completed other", "> -", "t1.1", "found"},
			[]string{`"look"`, "t2", "t1.2"},
		},
		{
			"L32 skills of a user and of the model",
			[]string{user("commit", slash), said("one"), user("the skill", byModel), said("two")},
			[]string{"-- skill", "t0 completed", `> "commit"`, "t0.1", "one", "t0.2", "two", "-- skill", "the skill"},
			[]string{"t1"},
		},
		{
			"L33 a goal goes on",
			[]string{
				user("go", byUser), said("ok"), user("continue", `{"kind":"system_trigger","name":"goal_continuation"}`),
				said("a"), user("reminder", `{"kind":"injection","variant":"x"}`), said("b"),
			},
			[]string{"t0 completed", "t1 completed other", "> -", "t1.1", "a", "t1.2", "b"},
			[]string{"continue", "reminder", "t2"},
		},
		{
			"L34 a cron job",
			[]string{user("reminder", `{"kind":"injection"}`), user("tick", `{"kind":"cron_job","jobId":"j1"}`), said("tock")},
			[]string{"t0 completed cron:j1", `> "tick"`, "tock"},
			[]string{"reminder", "t1"},
		},
		{
			"L35 a background task",
			[]string{user("done", `{"kind":"background_task","taskId":"k1","status":"completed"}`), said("ok")},
			[]string{"t0 completed task:k1", `> "done"`},
			[]string{"t1"},
		},
	} {
		t.Run(l.name, l.run)
	}
}

const (
	goalCreate = `"type":"goal.create","goalId":"g","objective":"green","completionCriterion":"tests pass"`
	info       = `"taskId":"k1","kind":"process","description":"sleep","startedAt":1767225600000,"endedAt":null`
)

// TestFacts: how the records beside the messages show.
func TestFacts(t *testing.T) {
	for _, l := range []line{
		{
			"L37 todos", all(turn(0, "go"),
				`"type":"tools.update_store","key":"todo","value":[{"title":"old","status":"pending"}]`,
				`"type":"tools.update_store","key":"other","value":[{"title":"no","status":"done"}]`,
				`"type":"tools.update_store","key":"todo","value":[{"title":"one","status":"done"},{"title":"bad","status":"x"},{"status":"done"},7,{"title":"two","status":"in_progress"}]`),
			[]string{"todo todo [{one done} {two in_progress}] 2026-01-01T00:00:08.000Z"},
			[]string{"{old", "{no", "bad"},
		},
		{
			"L38a a goal", all(turn(0, "go"), goalCreate, `"type":"goal.update","status":"blocked","tokensUsed":42`,
				`"type":"goal.update","budgetLimits":{"tokenBudget":100}`),
			[]string{
				"t0 completed", "-- goal 2026-01-01T00:00:06.000Z", "-- goal 2026-01-01T00:00:07.000Z", "-- goal 2026-01-01T00:00:08.000Z",
				`\"goal\":{\"objective\":\"green\",\"status\":\"blocked\"`,
			},
			nil,
		},
		{
			"L38a of 1.4",
			[]string{`"type":"goal.set","objective":"green"`, `"type":"goal.status","status":"paused"`, `"type":"goal.account_usage","tokensUsed":3`},
			[]string{`\"goal\":{\"objective\":\"green\",\"status\":\"paused\",\"budgetUsed\":3`},
			nil,
		},
		{"L38b a goal that is cleared", []string{goalCreate, `"type":"goal.clear"`}, nil, []string{`\"goal\":{\"objective`}},
		{
			"L39 cancels", all(
				turn(0, "a"), `"type":"turn.cancel","turnId":0,"target":"active","reason":"user_cancelled"`,
				`"type":"turn.cancel","turnId":0,"target":"active","reason":"user_cancelled"`,
				`"type":"turn.cancel","turnId":9,"target":"queued","reason":"user_cancelled"`,
				turn(1, "b"), `"type":"turn.cancel","turnId":1,"target":"active","reason":"aborted"`,
				`"type":"turn.cancel","turnId":1,"target":"active","reason":"user_cancelled"`,
				turn(2, "c"), `"type":"turn.cancel","turnId":2,"target":"active"`),
			[]string{"t0 cancelled", "-- interruption", "t1 cancelled", "t2 cancelled"},
			nil,
		},
		{
			"L40 modes",
			[]string{`"type":"plan_mode.enter","id":"p"`, `"type":"swarm_mode.enter","trigger":"tool"`, `"type":"plan_mode.exit","id":"p"`},
			[]string{"-- plan.enter", "-- swarm.enter", "-- plan.exit", `\"modes\":{\"swarm\":`},
			[]string{`\"plan\":`},
		},
		{
			"L40 all over",
			[]string{`"type":"plan_mode.enter"`, `"type":"plan_mode.cancel"`, `"type":"swarm_mode.enter"`, `"type":"swarm_mode.exit"`},
			[]string{"-- plan.enter", "-- plan.exit", "-- swarm.enter", "-- swarm.exit"},
			[]string{"modes"},
		},
		{"L40 plan alone", []string{`"type":"plan_mode.enter"`}, []string{`\"modes\":{\"plan\":{}}`}, nil},
		{"L41 a tower", []string{`"type":"tower_mode.enter"`, `"type":"tower_mode.exit"`, `"type":"tower_mode.enter"`}, []string{`\"modes\":{\"tower\":{}}`}, []string{"--"}},
		{"L41 a tower that is left", []string{`"type":"tower_mode.enter"`, `"type":"tower_mode.exit"`}, nil, []string{"--", "modes"}},
		{
			"L42 a plan's revision",
			[]string{`"type":"plan_mode.enter"`, `"type":"plan.revision","agentId":"main","id":"p","version":2,"path":"/p.md","sha256":"x","bytes":3`},
			[]string{"-- plan.enter", `-- plan.revision 2026-01-01T00:00:02.000Z "{\"id\":\"p\",\"version\":2,\"path\":\"/p.md\",\"sha256\":\"x\",\"bytes\":3}"`, `\"plan\":{\"reviewPath\":\"/p.md\",\"version\":2}`},
			nil,
		},
		{
			"L42 after exit",
			[]string{`"type":"plan_mode.enter"`, `"type":"plan.revision","id":"p","version":2,"path":"/p.md"`, `"type":"plan_mode.exit"`, `"type":"plan_mode.enter"`},
			[]string{"-- plan.revision", "-- plan.exit", `\"modes\":{\"plan\":{}}`},
			nil,
		},
		{
			"L43 tasks",
			[]string{
				`"type":"task.started","info":{` + info + `,"status":"running"}`,
				`"type":"task.started","info":{"taskId":"k2","kind":"agent","agentId":"agent-7","detached":false,"status":"running"}`,
				`"type":"task.terminated","info":{` + strings.Replace(info, "null", "1767225602000", 1) + `,"status":"completed"},"outputTail":"zzz"`,
			},
			[]string{
				"-- task k1 2026-01-01T00:00:01.000Z", "-- task k2",
				`task k1 shell completed detached=true "sleep" agent= 2026-01-01T00:00:00.000Z..2026-01-01T00:00:02.000Z tail "zzz"`,
				"task k2 subagent running detached=false - agent=agent-7",
			},
			nil,
		},
		{
			"L44 odd tasks",
			[]string{
				`"type":"task.started","info":{"taskId":"k1","kind":"question","status":"running"}`,
				`"type":"task.started"`, `"type":"task.started","info":{"kind":"process"}`,
			},
			[]string{"-- task k1", "task k1 other running"},
			[]string{"shell"},
		},
		{
			"L45 interactions that end",
			[]string{
				`"type":"interaction.request","id":"i1","kind":"approval","toolCallId":"c1","request":{"a":1}`,
				`"type":"interaction.request","id":"i2","kind":"question","request":{}`,
				`"type":"interaction.resolved","id":"i1","response":{"decision":"approved"}`,
				`"type":"interaction.resolved","id":"i2","response":null`,
				`"type":"interaction.resolved","id":"i3","response":null`,
			},
			[]string{`interaction i1 approval approved call=c1 "{\"a\":1}" → "{\"decision\":\"approved\"}"`, "interaction i2 question dismissed"},
			[]string{"i3"},
		},
		{
			"L46 an interaction that stays open stays pending",
			[]string{`"type":"interaction.request","id":"i1","kind":"approval","request":{"toolCallId":"c9"}`},
			[]string{"interaction i1 approval pending call=c9"},
			nil,
		},
		{"L47 a user's tool", []string{`"type":"interaction.request","id":"i1","kind":"user_tool","request":{}`}, nil, []string{"interaction"}},
		{
			"L48 a turn that failed", all(turn(0, "go"), ended+`"turnId":0,"reason":"failed","error":{"message":"no more","code":"E"},"durationMs":1234`),
			[]string{"t0 failed user 2026-01-01T00:00:01.000Z..2026-01-01T00:00:06.000Z 1234ms", `error "no more"`},
			nil,
		},
		{
			"L49 the last end wins", all(turn(0, "go"), ended+`"turnId":0,"reason":"failed","error":{"message":"no more"}`, ended+`"turnId":0,"reason":"completed"`),
			[]string{"t0 completed"},
			[]string{"no more"},
		},
		{"L49 blocked", all(turn(0, "go"), ended+`"turnId":0,"reason":"blocked"`), []string{"t0 failed"}, nil},
		{
			"L50 ends that name no turn", all(turn(0, "go"), ended+`"turnId":7,"reason":"failed"`, ended+`"reason":"failed"`),
			[]string{"t0 completed"},
			[]string{"failed", "t1"},
		},
		{
			"L50 an unknown reason", all(turn(0, "go"), ended+`"turnId":0,"reason":"whatever"`),
			[]string{"t0 completed user 2026-01-01T00:00:01.000Z..2026-01-01T00:00:06.000Z"},
			nil,
		},
		{
			"L51 a hidden retry between", all(
				turn(0, "a"), ended+`"turnId":0,"reason":"failed","error":"x"`,
				prompt("again", `{"kind":"retry"}`), user("again", `{"kind":"retry"}`), step(1, 1, "second try"), ended+`"turnId":1,"reason":"completed"`,
				turn(2, "b"), ended+`"turnId":2,"reason":"failed","error":"late"`),
			[]string{"t0 completed", "t0.1", "t0.2", "second try", "t1 failed", `error "late"`, `> "b"`},
			[]string{"again", "t2"},
		},
		{
			"L52 a reserved number between", all(
				turn(0, "a"), `"type":"turn.cancel","turnId":1,"target":"queued","reason":"user_cancelled"`,
				prompt("b", byUser), user("b", byUser), step(2, 1, "yes"), ended+`"turnId":2,"reason":"failed","error":"late"`),
			[]string{"t0 completed", "t1 failed", `error "late"`, `> "b"`, "t1.1"},
			[]string{"t2"},
		},
		{
			"C2 facts in their order",
			[]string{
				goalCreate, `"type":"plan_mode.enter"`, `"type":"task.started","info":{` + info + `,"status":"running"}`,
				`"type":"tools.update_store","key":"todo","value":[{"title":"one","status":"done"}]`,
				`"type":"interaction.request","id":"i1","kind":"question","request":{}`,
			},
			[]string{"-- goal", "-- plan.enter", "-- task k1", "task k1 shell", "interaction i1", "todo todo [{one done}]"},
			nil,
		},
	} {
		t.Run(l.name, l.run)
	}
}

// L36: records that are no facts leave the timeline as it is.
func TestNoFacts(t *testing.T) {
	fold := func(records ...string) string {
		list, _ := suite().Decode(importer.Source{Name: "s", Session: "s"}, []byte(wire(records...)))
		tree := importertest.Tree(importertest.Fold(t, list, "main"))
		return tree[:strings.LastIndex(tree, `"\"meta`)]
	}
	base := turn(0, "go")
	if got, want := fold(all(base, `"type":"mcp.tools_discovered","serverName":"x"`, `"type":"usage.record","model":"m","usage":{}`, `"type":"novelty"`, `"type":"permission.set_mode","mode":"auto"`)...), fold(base...); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// L39: of several cancels of one turn the first one leaves the one marker.
func TestOneInterruption(t *testing.T) {
	cancel := `"type":"turn.cancel","turnId":0,"target":"active","reason":"user_cancelled"`
	list, _ := suite().Decode(importer.Source{Session: "s"}, []byte(wire(all(turn(0, "a"), ended+`"turnId":5,"reason":"completed"`,
		prompt("b", byUser), user("b", byUser), strings.Replace(cancel, "0", "1", 1), strings.Replace(cancel, "0", "1", 1), ended+`"turnId":1,"reason":"cancelled","durationMs":7`)...)))
	tree := importertest.Tree(importertest.Fold(t, list, "main"))
	if strings.Count(tree, "-- interruption") != 1 || !strings.Contains(tree, "t1 cancelled") || !strings.Contains(tree, "7ms") {
		t.Error(tree)
	}
}
