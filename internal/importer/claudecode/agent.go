package claudecode

import (
	"maps"
	"slices"
	"strings"

	"github.com/stenohq/steno/internal/importer"
	"github.com/stenohq/steno/pkg/events"
)

// agent is the state of one agent log.
type agent struct {
	id     events.AgentID
	run    string // the source's run
	labels map[string]string
	titled int // rank of the title's source
	begun  bool
	spawn  importer.Spawn

	turn   int    // ordinal of the newest turn; -1 before the first
	open   bool   // the turn runs
	end    string // how it ended, as told
	fresh  bool   // the next message must not go on with the former turn
	prompt string // promptId of the turn
	text   string // its prompt as shown
	steps  int    // of the turn
	step   *step  // the newest step; nil when the turn has none
	byKey  map[string]*step
	last   string // time of the newest record that the turn is made of

	calls  map[string]int      // tool calls by the source's id: how many
	named  map[string]string   // the source's id: the newest call of it
	asking map[string]bool     // calls of the turn that are not answered
	byUUID map[string][]string // record: its calls without an id, not answered
	bare   []string            // calls without an id, not answered
	held   map[string][]importer.Draft
	holds  int

	boundary   *boundary
	queued     []string
	prompts    int
	plan       bool
	permission string
}

func newAgent(id events.AgentID) *agent {
	return &agent{
		id:     id,
		turn:   -1,
		labels: map[string]string{"source": "import:" + Name, "runtime": Name},
		calls:  make(map[string]int),
		named:  make(map[string]string),
		asking: make(map[string]bool),
		byUUID: make(map[string][]string),
		held:   make(map[string][]importer.Draft),
	}
}

// The ranks of what can name a session.
const (
	titleSummary = iota + 1
	titleAI
	titleCustom
)

// start publishes the agent's start, and again when more is known of it.
func (d *decoder) start(r *record) {
	a := r.a
	changed := !a.begun
	if !a.begun {
		maps.Copy(a.labels, d.src.Labels)
		a.spawn = d.spawnOf(r)
	}
	if r.graph() {
		changed = a.learn("cwd", r.Str("cwd")) || changed
		changed = a.learn("version", r.Str("version")) || changed
		changed = a.learn("git_branch", r.Str("gitBranch")) || changed
		changed = a.learn("entrypoint", r.Str("entrypoint")) || changed
	}
	if r.kind == "assistant" && a.labels["model"] == "" {
		if model := r.Object("message").Str("model"); model != synthetic {
			changed = a.learn("model", model) || changed
		}
	}
	changed = a.title(r) || changed
	if !changed {
		return
	}
	a.begun = true
	var p importer.Fields
	kind := "sub"
	if a.id == events.MainAgent {
		kind = "main"
	}
	p.Str("type", kind).Opt("parentAgentId", string(a.spawn.Parent)).
		Opt("parentToolCallId", a.spawn.ToolCallID).Opt("label", a.spawn.Label)
	r.out.Event(importer.Draft{
		Agent: a.id, Type: "agent.started", Payload: p.Object(), SourceRun: a.run, Labels: a.labelsJSON(),
	})
}

// learn sets a label once.
func (a *agent) learn(name, value string) bool {
	if value == "" || a.labels[name] != "" {
		return false
	}
	a.labels[name] = strings.Clone(value)
	return true
}

// title takes the session's name from a sidecar, the best source first.
func (a *agent) title(r *record) bool {
	rank, title := 0, ""
	switch r.kind {
	case "summary":
		rank, title = titleSummary, r.Str("summary")
	case "ai-title":
		rank, title = titleAI, r.Either("aiTitle", "title")
	case "custom-title":
		rank, title = titleCustom, r.Either("customTitle", "title")
	}
	if title == "" || rank < a.titled || title == a.labels["title"] {
		return false
	}
	a.titled = rank
	a.labels["title"] = strings.Clone(title)
	return true
}

func (a *agent) labelsJSON() []byte {
	var p importer.Fields
	for _, name := range slices.Sorted(maps.Keys(a.labels)) {
		p.Str(name, a.labels[name])
	}
	return p.Object()
}

// permissions follows the permission mode, of which plan mode is a part.
func (a *agent) permissions(r *record, mode string) {
	if mode == "" || mode == a.permission {
		return
	}
	a.permission = strings.Clone(mode)
	var p importer.Fields
	switch mode {
	case "default":
		p.Str("permission", "manual")
	case "acceptEdits", "auto", "dontAsk":
		p.Str("permission", "auto")
	case "bypassPermissions":
		p.Str("permission", "yolo")
	}
	a.planning(r, mode == "plan")
	if payload := p.Object(); len(payload) > len("{}") {
		r.emit("agent.status.updated", &p)
	}
}

// planning tells when plan mode begins and ends.
func (a *agent) planning(r *record, on bool) {
	if on == a.plan {
		return
	}
	a.plan = on
	kind := "plan_mode.exit"
	if on {
		kind = "plan_mode.enter"
	}
	r.emit(kind, &importer.Fields{})
}
