package reducer

import (
	"fmt"
	"strings"
	"testing"
)

// marked is a head marker m0 and turns t1..tn, each followed by its marker.
func marked(t *testing.T, n int) *Snapshot {
	r := newRig(t, opMarker("m0"))
	for i := 1; i <= n; i++ {
		r.apply(batch(opTurn(fmt.Sprint("t", i)), opMarker(fmt.Sprint("m", i))))
	}
	return r.tr.Snapshot(-1)
}

func TestPaginate(t *testing.T) {
	for _, c := range []struct {
		id    string
		turns int
		q     PageQuery
		want  string
		more  bool
	}{
		{"L12 newest", 5, PageQuery{Size: 2}, "t4 m4 t5 m5", true},
		{"L13a before", 5, PageQuery{Before: "t4", Size: 2}, "t2 m2 t3 m3", true},
		{"L13b before, to the start", 5, PageQuery{Before: "t2", Size: 5}, "m0 t1 m1", false},
		{"L14 after", 5, PageQuery{After: "t3", Size: 2}, "t4 m4 t5 m5", false},
		{"after, more to come", 5, PageQuery{After: "t1", Size: 2}, "t2 m2 t3 m3", true},
		{"L15 all", 5, PageQuery{Size: 5}, "m0 t1 m1 t2 m2 t3 m3 t4 m4 t5 m5", false},
		{"L16 a marker only", 0, PageQuery{Size: 3}, "m0", false},
		{"before an unknown turn", 3, PageQuery{Before: "zzz", Size: 2}, "m0", false},
		// The first turn brings what stands before it, on whichever page it is.
		{"after an unknown turn", 3, PageQuery{After: "zzz", Size: 2}, "m0 t1 m1 t2 m2", true},
		{"one turn", 5, PageQuery{Turn: "t3"}, "t3 m3", false},
		{"one unknown turn", 5, PageQuery{Turn: "t9"}, "", false},
		{"ordinals, not strings", 12, PageQuery{Before: "t10", Size: 2}, "t8 m8 t9 m9", true},
	} {
		t.Run(c.id, func(t *testing.T) {
			p, err := Paginate(marked(t, c.turns), c.q)
			if err != nil {
				t.Fatal(err)
			}
			if got := order(p.Snapshot); got != c.want || p.HasMore != c.more || p.Incomplete {
				t.Fatalf("%q more %v incomplete %v; want %q more %v", got, p.HasMore, p.Incomplete, c.want, c.more)
			}
		})
	}
}

func TestPaginateRefuses(t *testing.T) {
	for _, q := range []PageQuery{
		{Before: "t1", After: "t2"}, // R18
		{Before: "t1", Turn: "t2"},
		{BeforeStep: 3},
		{Size: -1},
		{Size: MaxPageTurns + 1},
		{Turn: "t1", BeforeStep: -1},
	} {
		if _, err := Paginate(marked(t, 2), q); err == nil {
			t.Errorf("%+v accepted", q)
		}
	}
}

func TestPageBeyondTheWindow(t *testing.T) {
	s := marked(t, 9)
	tr := NewTranscript("main")
	tr.Apply([]Op{{Kind: OpReset, Snapshot: s}})
	w := tr.Snapshot(4) // t6..t9
	for _, c := range []struct {
		q          PageQuery
		want       string
		incomplete bool
	}{
		{PageQuery{Size: 4}, "t6 m6 t7 m7 t8 m8 t9 m9", false},
		{PageQuery{Size: 5}, "t6 m6 t7 m7 t8 m8 t9 m9", true},
		{PageQuery{Before: "t8", Size: 2}, "t6 m6 t7 m7", false},
		{PageQuery{Before: "t8", Size: 3}, "t6 m6 t7 m7", true},
		{PageQuery{Before: "t3"}, "", true},
		{PageQuery{After: "t7"}, "t8 m8 t9 m9", false},
		{PageQuery{After: "t5"}, "t6 m6 t7 m7 t8 m8 t9 m9", false},
		{PageQuery{After: "t3"}, "t6 m6 t7 m7 t8 m8 t9 m9", true},
		{PageQuery{Turn: "t2"}, "", true},
		{PageQuery{Turn: "t7"}, "t7 m7", false},
	} {
		p, err := Paginate(w, c.q)
		if err != nil {
			t.Fatal(err)
		}
		if got := order(p.Snapshot); got != c.want || p.Incomplete != c.incomplete {
			t.Errorf("%+v: %q incomplete %v, want %q %v", c.q, got, p.Incomplete, c.want, c.incomplete)
		}
		if none, err := Paginate(tr.Snapshot(0), c.q); err != nil || !none.Incomplete || order(none.Snapshot) != "" {
			t.Errorf("%+v of nothing: %+v %v", c.q, none, err)
		}
		if c.q.After == "" && c.q.Turn == "" && !p.HasMore {
			t.Errorf("%+v: no more, but older turns exist", c.q)
		}
	}
}

// manySteps is one turn of n steps with a text of size bytes each.
func manySteps(t *testing.T, n, size int) *Snapshot {
	r := newRig(t, opTurn("t1"))
	for i := 1; i <= n; i++ {
		r.apply(opText(fmt.Sprint("t1.", i), "f", strings.Repeat("x", size)))
	}
	r.apply(batch(opTurn("t2"), opText("t2.1", "f", "end")))
	return r.tr.Snapshot(-1)
}

func stepRange(s *Snapshot, turn string) string {
	for t := range s.Turns() {
		if t.TurnID == turn && len(t.Steps) > 0 {
			return fmt.Sprintf("%d-%d more=%v", t.Steps[0].Ordinal, t.Steps[len(t.Steps)-1].Ordinal, t.HasMoreSteps)
		}
	}
	return ""
}

func TestPageSteps(t *testing.T) {
	s := manySteps(t, 120, 10)
	for _, c := range []struct {
		q    PageQuery
		want string
	}{
		{PageQuery{}, "71-120 more=true"},
		{PageQuery{Turn: "t1"}, "71-120 more=true"},
		{PageQuery{Turn: "t1", BeforeStep: 71}, "21-70 more=true"},
		{PageQuery{Turn: "t1", BeforeStep: 21}, "1-20 more=false"},
		{PageQuery{Turn: "t1", BeforeStep: 51}, "1-50 more=false"},
		{PageQuery{Turn: "t1", BeforeStep: 1}, ""},
	} {
		p, err := Paginate(s, c.q)
		if err != nil {
			t.Fatal(err)
		}
		if got := stepRange(p.Snapshot, "t1"); got != c.want || p.Incomplete {
			t.Errorf("%+v: steps %s incomplete %v, want %s", c.q, got, p.Incomplete, c.want)
		}
	}
}

func TestPageBytes(t *testing.T) {
	s := manySteps(t, 40, 1000)
	p, err := Paginate(s, PageQuery{MaxBytes: 10_000})
	if err != nil {
		t.Fatal(err)
	}
	if got := order(p.Snapshot); got != "t2" || !p.HasMore {
		t.Fatalf("%q more %v: the long turn should not fit beside the newest", got, p.HasMore)
	}
	p, err = Paginate(s, PageQuery{Before: "t2", MaxBytes: 10_000})
	if err != nil {
		t.Fatal(err)
	}
	size := len(p.AppendJSON(nil))
	if got := stepRange(p.Snapshot, "t1"); !strings.HasSuffix(got, "-40 more=true") || size > 11_000 || size < 8_000 {
		t.Fatalf("steps %s in %d bytes", got, size)
	}
	// What is larger than the bound by itself is sent all the same.
	p, err = Paginate(s, PageQuery{Before: "t2", MaxBytes: 10})
	if err != nil {
		t.Fatal(err)
	}
	if got := stepRange(p.Snapshot, "t1"); got != "40-40 more=true" {
		t.Fatalf("steps %s", got)
	}
}

func TestPageCarriesWhatItsItemsNeed(t *testing.T) {
	r := newRig(t, batch(
		opTurn("t1", `"attachmentIds":["a1"]`), opTool("t1.1", "c1", `"taskId":"k1"`), opTask("k1", `"state":"completed"`),
		opInteraction("i1", "approval", "approved", "c1"), opAttachmentOf("a1"),
		opTurn("t2", `"attachmentIds":["a2"]`),
		opTool("t2.1", "c2", `"taskId":"k2"`, `"approvalId":"i3"`, `"agentRefs":[{"agentId":"sub","role":"child"}]`),
		opTask("k2", `"state":"failed"`), opTask("k3", `"state":"completed"`, `"agentId":"sub"`), opTask("open"),
		opTask("k4", `"state":"lost"`), opMark("taskref", "ref-k4"), opTask("x", `"state":"lost"`),
		opInteraction("i2", "approval", "rejected", "c2"), opInteraction("i3", "question", "answered", ""),
		opInteraction("i4", "question", "pending", ""), opInteraction("i5", "question", "answered", ""),
		opAttachmentOf("a2"), opAttachmentOf("a9"),
		`{"op":"todo.upsert","todo":{"todoId":"todo","items":[]}}`,
		opPromptOf("p1", "completed"), opPromptOf("p2", "queued"), opPromptOf("p3", "running"), opPromptOf("p4", "blocked"),
		opMeta(`{"activity":"turn"}`)))
	p, err := Paginate(r.tr.Snapshot(-1), PageQuery{Size: 1})
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for k := range p.Tasks() {
		ids = append(ids, k.TaskID)
	}
	for i := range p.Interactions() {
		ids = append(ids, i.InteractionID)
	}
	for a := range p.Attachments() {
		ids = append(ids, a.AttachmentID)
	}
	for d := range p.Todos() {
		ids = append(ids, d.TodoID)
	}
	for q := range p.Prompts() {
		ids = append(ids, q.PromptID)
	}
	// x is the task that the task ref names.
	if got, want := strings.Join(ids, " "), "k2 k3 open x i2 i3 i4 a2 todo p2 p3 p4"; got != want {
		t.Fatalf("%s\nwant %s", got, want)
	}
	if p.Meta().Activity != "turn" {
		t.Fatal("no meta")
	}
}

func opAttachmentOf(id string) string {
	return `{"op":"attachment.upsert","attachment":{"attachmentId":"` + id + `","mediaType":"image/*"}}`
}

func opPromptOf(id, status string) string {
	return `{"op":"prompt.upsert","prompt":{"promptId":"` + id + `","status":"` + status + `","createdAt":"2026-01-01T00:00:00.000Z"}}`
}

func TestWindow(t *testing.T) {
	s := manySteps(t, 120, 10)
	w := s.Window(WindowOptions{Turns: 20})
	if got := stepRange(w, "t1"); got != "71-120 more=true" || w.HasMoreOlder() {
		t.Fatalf("%s %v", got, w.HasMoreOlder())
	}
	if w = s.Window(WindowOptions{Turns: 1}); order(w) != "t2" || !w.HasMoreOlder() {
		t.Fatalf("%s %v", order(w), w.HasMoreOlder())
	}
	if w = s.Window(WindowOptions{}); order(w) != "" || !w.HasMoreOlder() {
		t.Fatalf("%s %v", order(w), w.HasMoreOlder())
	}
	if w = s.Window(WindowOptions{Turns: -1, Bytes: 1000}); order(w) != "t2" || !w.HasMoreOlder() {
		t.Fatalf("%s %v", order(w), w.HasMoreOlder())
	}
	if w = s.Window(WindowOptions{Turns: -1}); order(w) != "t1 t2" || w.HasMoreOlder() {
		t.Fatalf("%s %v", order(w), w.HasMoreOlder())
	}
}

// TestLoadOlder pages back to the start and compares with the whole.
func TestLoadOlder(t *testing.T) {
	r := newRig(t, opMarker("m0"))
	for i := 1; i <= 9; i++ {
		r.apply(batch(opTurn(fmt.Sprint("t", i)), opMarker(fmt.Sprint("m", i)), opText(fmt.Sprint("t", i, ".1"), "f", "x"),
			opText(fmt.Sprint("t", i, ".2"), "f", "x"), opText(fmt.Sprint("t", i, ".3"), "f", "x")))
	}
	whole := r.tr.Snapshot(-1)
	client := NewTranscript("main")
	client.Apply([]Op{{Kind: OpReset, Snapshot: whole.Window(WindowOptions{Turns: 2, Steps: 1})}})
	first := func() string { return strings.Fields(order(client.Snapshot(-1)))[0] }
	for client.HasMoreOlder() {
		p, err := Paginate(whole, PageQuery{Before: first(), Size: 2, MaxSteps: 2})
		if err != nil {
			t.Fatal(err)
		}
		client.LoadOlder(p.Snapshot, p.HasMore)
	}
	for i := 1; i <= 9; i++ {
		id := fmt.Sprint("t", i)
		before := 2
		if i >= 8 {
			before = 3
		}
		p, err := Paginate(whole, PageQuery{Turn: id, BeforeStep: before})
		if err != nil {
			t.Fatal(err)
		}
		client.LoadOlder(p.Snapshot, client.HasMoreOlder())
	}
	if got, want := snapshotJSON(client.Snapshot(-1)), snapshotJSON(whole); got != want {
		t.Fatalf("%s\nwant %s", got, want)
	}
}
