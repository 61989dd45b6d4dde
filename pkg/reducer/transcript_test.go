package reducer

import (
	"strings"
	"testing"
)

// rig is a transcript driven by JSON.
type rig struct {
	*testing.T
	tr *Transcript
}

func newRig(t *testing.T, batches ...string) *rig {
	t.Helper()
	r := &rig{t, NewTranscript("main")}
	for _, b := range batches {
		r.apply(b)
	}
	return r
}

// decodeOps reads a list of operations without its brackets.
func decodeOps(t testing.TB, list string) []Op {
	t.Helper()
	ops, err := DecodeOps([]byte("[" + list + "]"))
	if err != nil {
		t.Fatal(err)
	}
	return ops
}

func (r *rig) apply(list string) Result {
	r.Helper()
	return r.tr.Apply(decodeOps(r.T, list))
}

// accept applies and checks how many operations changed something, none of
// them leaving a gap.
func (r *rig) accept(want int, list string) {
	r.Helper()
	res := r.apply(list)
	if len(res.Accepted) != want || res.Gap != nil {
		r.Fatalf("accepted %v, gap %v; want %d accepted: %s", res.Accepted, res.Gap, want, list)
	}
}

func (r *rig) json() string { return snapshotJSON(r.tr.Snapshot(-1)) }

func snapshotJSON(s *Snapshot) string { return string(s.AppendJSON(nil)) }

// order lists the ids of the items.
func order(s *Snapshot) string {
	var ids []string
	for it := range s.Items() {
		ids = append(ids, it.ID())
	}
	return strings.Join(ids, " ")
}

func (r *rig) wantOrder(want string) {
	r.Helper()
	if got := order(r.tr.Snapshot(-1)); got != want {
		r.Fatalf("items %q, want %q", got, want)
	}
}

// wantHas checks that the state's JSON has a part.
func (r *rig) wantHas(parts ...string) {
	r.Helper()
	for _, p := range parts {
		if !strings.Contains(r.json(), p) {
			r.Fatalf("no %s in %s", p, r.json())
		}
	}
}

func (r *rig) wantNot(parts ...string) {
	r.Helper()
	for _, p := range parts {
		if strings.Contains(r.json(), p) {
			r.Fatalf("%s in %s", p, r.json())
		}
	}
}

func (r *rig) pending() string {
	var ids []string
	for i := range r.tr.Snapshot(-1).Pending() {
		ids = append(ids, i.InteractionID)
	}
	return strings.Join(ids, " ")
}

// frame returns the n-th frame of a step.
func (r *rig) frame(turn, step, n int) *Frame {
	r.Helper()
	var turns []*Turn
	for t := range r.tr.Snapshot(-1).Turns() {
		turns = append(turns, t)
	}
	return turns[turn].Steps[step].Frames[n]
}

// The operations that the tests are written in.

func opTurn(id string, more ...string) string {
	extra := strings.Join(more, ",")
	if extra != "" {
		extra = "," + extra
	}
	return `{"op":"turn.upsert","turn":{"kind":"turn","turnId":"` + id + `","ordinal":` + strings.TrimPrefix(id, "t") +
		`,"state":"running","origin":{"kind":"user"}` + extra + `}}`
}

func opStep(id string, more ...string) string {
	turn, n, _ := strings.Cut(id, ".")
	extra := strings.Join(more, ",")
	if extra != "" {
		extra = "," + extra
	}
	if !strings.Contains(extra, `"state"`) {
		extra += `,"state":"running"`
	}
	return `{"op":"step.upsert","turnId":"` + turn + `","step":{"kind":"step","stepId":"` + id + `","turnId":"` + turn +
		`","ordinal":` + n + extra + `}}`
}

func opFrame(step, frame string) string {
	turn, _, _ := strings.Cut(step, ".")
	return `{"op":"frame.upsert","turnId":"` + turn + `","stepId":"` + step + `","frame":` + frame + `}`
}

func opText(step, id, text string) string {
	return opFrame(step, `{"kind":"text","frameId":"`+id+`","role":"assistant","text":"`+text+`"}`)
}

func opTool(step, call string, more ...string) string {
	extra := strings.Join(more, ",")
	if extra != "" {
		extra = "," + extra
	}
	if !strings.Contains(extra, `"state"`) {
		extra += `,"state":"running"`
	}
	return opFrame(step, `{"kind":"tool","frameId":"`+step+`.`+call+`","toolCallId":"`+call+`","name":"Bash"`+extra+`}`)
}

func opAppend(step, id, offset, text string) string {
	turn, _, _ := strings.Cut(step, ".")
	return `{"op":"append","target":{"type":"frame","turnId":"` + turn + `","stepId":"` + step + `","frameId":"` + id +
		`"},"offset":` + offset + `,"text":"` + text + `"}`
}

func opTail(task, offset, text string) string {
	return `{"op":"append","target":{"type":"task","taskId":"` + task + `"},"offset":` + offset + `,"text":"` + text + `"}`
}

func opMarker(id string, more ...string) string { return opMark("marker", id, more...) }

func opMark(kind, id string, more ...string) string {
	item := `{"kind":"marker","markerId":"` + id + `","marker":"goal"`
	if kind == "taskref" {
		item = `{"kind":"taskref","refId":"` + id + `","taskId":"x"`
	}
	before := ""
	for _, m := range more {
		if n, ok := strings.CutPrefix(m, "before "); ok {
			before = `,"beforeTurn":` + n
		} else {
			item += "," + m
		}
	}
	return `{"op":"` + kind + `.upsert","item":` + item + `}` + before + `}`
}

func opTask(id string, more ...string) string {
	extra := strings.Join(more, ",")
	for name, value := range map[string]string{"state": `"running"`, "detached": "false", "outputTail": `""`} {
		if !strings.Contains(extra, `"`+name+`"`) {
			extra += `,"` + name + `":` + value
		}
	}
	return `{"op":"task.upsert","task":{"taskId":"` + id + `","kind":"shell",` + strings.TrimPrefix(extra, ",") + `}}`
}

func opInteraction(id, kind, state, call string) string {
	if call != "" {
		call = `,"toolCallId":"` + call + `"`
	}
	return `{"op":"interaction.upsert","interaction":{"interactionId":"` + id + `","interactionKind":"` + kind +
		`","state":"` + state + `"` + call + `}}`
}

func opMeta(meta string) string { return `{"op":"meta.merge","meta":` + meta + `}` }

func opRemove(ids ...string) string {
	return `{"op":"items.remove","ids":["` + strings.Join(ids, `","`) + `"]}`
}

func batch(ops ...string) string { return strings.Join(ops, ",") }
