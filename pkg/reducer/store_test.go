package reducer

import (
	"strings"
	"testing"
)

// TestStore has one case for each line S* of the conformance list.
func TestStore(t *testing.T) {
	for name, test := range storeCases() {
		t.Run(name, func(t *testing.T) { test(newRig(t)) })
	}
}

func storeCases() map[string]func(*rig) {
	return map[string]func(*rig){
		"S1 turn, step and running tool frame": func(r *rig) {
			r.accept(3, batch(opTurn("t1"), opStep("t1.1"), opTool("t1.1", "c")))
			r.wantOrder("t1")
			if f := r.frame(0, 0, 0); f.Kind != FrameTool || f.State != ToolRunning {
				r.Fatalf("frame %+v", f)
			}
		},
		"S2 a frame alone makes its turn and step": func(r *rig) {
			r.accept(1, opText("t9.2", "f", "x"))
			r.wantHas(`"turnId":"t9","ordinal":9,"state":"running","origin":{"kind":"other"}`, `"stepId":"t9.2","turnId":"t9","ordinal":2,"state":"running"`)
		},
		"S3 twice and again leaves the same items": func(r *rig) {
			ops := batch(opTurn("t1"), opStep("t1.1"), opText("t1.1", "f", "a"), opMarker("m1"))
			once := newRig(r.T, ops).json()
			r.apply(batch(ops, ops))
			r.accept(0, ops)
			if r.json() != once {
				r.Fatalf("%s\nwant %s", r.json(), once)
			}
		},
		"S4a an append behind the end is a gap": func(r *rig) {
			r.apply(opText("t1.1", "f", ""))
			r.wantGap(opAppend("t1.1", "f", "5", "x"), 0, 5)
			r.wantHas(`"text":""`)
		},
		"S4b appends in order": func(r *rig) {
			r.accept(3, batch(opText("t1.1", "f", ""), opAppend("t1.1", "f", "0", "hello "), opAppend("t1.1", "f", "6", "world")))
			r.wantHas(`"text":"hello world"`)
		},
		"S4c a repeated append is not accepted": func(r *rig) {
			r.apply(batch(opText("t1.1", "f", "hello "), opAppend("t1.1", "f", "6", "world")))
			r.accept(0, opAppend("t1.1", "f", "6", "world"))
		},
		"S5a at the end":       growCase("abc", 3, "d", "abcd"),
		"S5b present already":  growCase("abc", 1, "bc", "abc"),
		"S5c present in part":  growCase("abc", 1, "bcd", "abcd"),
		"S5d behind the end":   gapCase("abc", 5, "x", 3),
		"S6a differs":          gapCase("hello", 2, " world", 5),
		"S6b the novel suffix": growCase("hello wo", 6, "world", "hello world"),
		"S7a pending approval": func(r *rig) {
			r.accept(1, opInteraction("i", "approval", "pending", "c"))
			r.wantPending("i")
			r.accept(1, opInteraction("i", "approval", "approved", "c"))
			r.wantPending("")
		},
		"S7b unanchored question": func(r *rig) {
			r.accept(1, opInteraction("q", "question", "pending", ""))
			r.wantPending("q")
			r.accept(1, opInteraction("q", "question", "answered", ""))
			r.wantPending("")
		},
		"S8a attachment and todo twice": func(r *rig) {
			ops := batch(`{"op":"attachment.upsert","attachment":{"attachmentId":"a","mediaType":"image/png","source":{"kind":"file","fileId":"1"}}}`,
				`{"op":"todo.upsert","todo":{"todoId":"todo","items":[{"title":"x","status":"done"}]}}`)
			r.accept(2, ops)
			r.accept(0, ops)
		},
		"S8b an empty todo replaces the items": func(r *rig) {
			r.apply(`{"op":"todo.upsert","todo":{"todoId":"todo","items":[{"title":"x","status":"done"}]}}`)
			r.accept(1, `{"op":"todo.upsert","todo":{"todoId":"todo","items":[]}}`)
			r.wantHas(`"todos":[{"todoId":"todo","items":[]}]`)
		},
		"S9a prompts": func(r *rig) {
			queued := `{"op":"prompt.upsert","prompt":{"promptId":"p","status":"queued","createdAt":"2026-01-01T00:00:00.000Z"}}`
			r.accept(1, queued)
			r.accept(0, queued)
			r.accept(1, `{"op":"prompt.upsert","prompt":{"promptId":"p","status":"running","createdAt":"2026-01-01T00:00:00.000Z","steeredAt":"2026-01-01T00:00:01.000Z"}}`)
			r.wantHas(`"status":"running"`, `"steeredAt":"2026-01-01T00:00:01.000Z"`)
		},
		"S9b a snapshot restores prompts": func(r *rig) {
			r.apply(`{"op":"prompt.upsert","prompt":{"promptId":"p","status":"queued","content":[1],"createdAt":"2026-01-01T00:00:00.000Z"}}`)
			r.wantRestored(r.tr.Snapshot(-1))
		},
		"S10 a step's retry goes, its result comes": func(r *rig) {
			r.accept(1, opStep("t1.1", `"retry":{"failedAttempt":1,"nextAttempt":2,"maxAttempts":3,"delayMs":4,"errorName":"e","errorMessage":"m"}`))
			r.wantHas(`"retry":{"failedAttempt":1`)
			r.accept(1, opStep("t1.1", `"state":"completed"`, `"usage":{"inputOther":1,"output":2,"inputCacheRead":3,"inputCacheCreation":4}`,
				`"finishReason":"stop"`, `"timing":{"llmFirstTokenLatencyMs":5}`))
			r.wantNot(`"retry"`)
			r.wantHas(`"usage":{"inputOther":1,"output":2,"inputCacheRead":3,"inputCacheCreation":4}`, `"timing":{"llmFirstTokenLatencyMs":5}`, `"finishReason":"stop"`)
		},
		"S11 a turn's end": func(r *rig) {
			r.apply(opTurn("t1"))
			r.accept(1, strings.Replace(opTurn("t1", `"durationMs":12`, `"error":"boom"`), "running", "failed", 1))
			r.wantHas(`"state":"failed"`, `"durationMs":12`, `"error":"boom"`)
		},
		"S12 a tool frame fills": func(r *rig) {
			r.accept(4, batch(opTool("t1.1", "c", `"inputText":"{\"a"`), opTool("t1.1", "c", `"inputText":"{\"a\":1}"`),
				opTool("t1.1", "c", `"inputText":"{\"a\":1}"`, `"input":{"a":1}`),
				opTool("t1.1", "c", `"inputText":"{\"a\":1}"`, `"input":{"a":1}`, `"progress":{"kind":"stdout","text":"x"}`)))
			r.wantHas(`"input":{"a":1}`, `"inputText":"{\"a\":1}"`, `"progress":{"kind":"stdout","text":"x"}`)
		},
		"S13 a task's end": func(r *rig) {
			r.accept(1, opTask("k", `"state":"completed"`, `"resultSummary":"ok"`, `"usage":{"inputOther":0,"output":9,"inputCacheRead":0,"inputCacheCreation":0}`))
			r.wantHas(`"resultSummary":"ok"`, `"output":9`)
		},
		"S14 a removed turn takes its interactions along": func(r *rig) {
			r.apply(batch(opTurn("t1"), opTool("t1.1", "c"), opInteraction("i", "approval", "pending", "c")))
			r.accept(1, opRemove("t1", "nobody"))
			r.wantOrder("")
			r.wantPending("")
			r.wantHas(`"interactions":[]`)
		},
		"S15 a window of two turns": func(r *rig) {
			for _, n := range []string{"1", "2", "3", "4", "5"} {
				r.apply(batch(opMarker("m"+n), opTurn("t"+n)))
			}
			s := r.tr.Snapshot(2)
			if got := order(s); got != "t4 m5 t5" || !s.HasMoreOlder() {
				r.Fatalf("items %q, more %v", got, s.HasMoreOlder())
			}
			r.wantRestored(s)
		},
		"S16 the same operation twice counts once": func(r *rig) {
			r.accept(1, batch(opTurn("t1"), opTurn("t1")))
		},
		"S17 a task keeps its tail": func(r *rig) {
			r.accept(3, batch(opTask("k"), opTail("k", "0", `line1\n`), opTask("k", `"detached":true`, `"outputTail":"line1\n"`)))
			r.wantHas(`"detached":true`, `"outputTail":"line1\n"`)
		},
		"S18 meta slices meet": func(r *rig) {
			r.accept(2, batch(opMeta(`{"goal":{"objective":"o","status":"active"}}`), opMeta(`{"modes":{"plan":{"reviewPath":"p"}}}`)))
			r.wantHas(`"meta":{"goal":{"objective":"o","status":"active"},"modes":{"plan":{"reviewPath":"p"}}}`)
		},
		"S19 modes go one by one": func(r *rig) {
			r.apply(opMeta(`{"modes":{"plan":{},"swarm":{},"tower":{}}}`))
			r.accept(1, opMeta(`{"modes":{"plan":null}}`))
			r.wantHas(`"modes":{"swarm":{},"tower":{}}`)
			r.accept(1, opMeta(`{"modes":{"swarm":null}}`))
			r.wantHas(`"modes":{"tower":{}}`)
			r.accept(1, opMeta(`{"modes":{"tower":null}}`))
			r.wantHas(`"meta":{}`)
		},
		"S20a agent keys add up": func(r *rig) {
			r.apply(batch(opMeta(`{"agent":{"model":"m","permission":"auto"}}`), opMeta(`{"agent":{"contextTokens":3}}`)))
			r.wantHas(`"agent":{"model":"m","contextTokens":3,"permission":"auto"}`)
		},
		"S20b an agent key is replaced": func(r *rig) {
			r.apply(batch(opMeta(`{"agent":{"model":"m","permission":"auto"}}`), opMeta(`{"agent":{"model":"n","phase":{"kind":"idle"}}}`)))
			r.wantHas(`"agent":{"model":"n","permission":"auto","phase":{"kind":"idle"}}`)
		},
		"S20c activity leaves the agent alone": func(r *rig) {
			r.apply(batch(opMeta(`{"agent":{"model":"m"}}`), opMeta(`{"activity":"turn"}`)))
			r.wantHas(`"meta":{"activity":"turn","agent":{"model":"m"}}`)
		},
		"S21 what was read stays": func(r *rig) {
			r.apply(opTool("t1.1", "c"))
			before := r.tr.Snapshot(-1)
			f := r.frame(0, 0, 0)
			r.accept(1, opTool("t1.1", "c", `"state":"done"`))
			if f.State != ToolRunning || !strings.Contains(snapshotJSON(before), `"state":"running"`) || r.frame(0, 0, 0).State != ToolDone {
				r.Fatal("the earlier value changed")
			}
		},
		"S22 order": func(r *rig) {
			r.accept(5, batch(opTurn("t2"), opTurn("t0"), opMarker("m", "before 1"), opTurn("t1"), opMark("taskref", "k", "before 2")))
			r.wantOrder("t0 m t1 k t2")
		},
		"S23 a marker at the start stays there": func(r *rig) {
			r.apply(batch(opTurn("t0"), opMarker("m", "before 0")))
			r.wantOrder("m t0")
			r.accept(1, opMarker("m", "before 0", `"payload":1`))
			r.wantOrder("m t0")
		},
		"S24 a marker without anchor is last": func(r *rig) {
			r.apply(batch(opTurn("t0"), opTurn("t1"), opMarker("m")))
			r.wantOrder("t0 t1 m")
		},
		"S25 another input replaces": func(r *rig) {
			r.accept(2, batch(opTool("t1.1", "c", `"input":{"a":1}`), opTool("t1.1", "c", `"input":{"a":2}`)))
			r.wantHas(`"input":{"a":2}`)
		},
	}
}

func growCase(local string, offset int, chunk, want string) func(*rig) {
	return func(r *rig) {
		g := textOf(local)
		out := g.growAt(r.tr.owner, offset, chunk)
		if g.String() != want || (out == changed) != (want != local) || out == mismatch {
			r.Fatalf("(%q, %d, %q) = %q, outcome %d; want %q", local, offset, chunk, g.String(), out, want)
		}
		if g.units != UTF16Len(want) {
			r.Fatalf("length %d of %q", g.units, want)
		}
	}
}

func gapCase(local string, offset int, chunk string, expected int) func(*rig) {
	return func(r *rig) {
		g := textOf(local)
		if out := g.growAt(r.tr.owner, offset, chunk); out != mismatch || g.units != expected || g.String() != local {
			r.Fatalf("(%q, %d, %q) = %q, outcome %d, length %d; want a gap with length %d",
				local, offset, chunk, g.String(), out, g.units, expected)
		}
	}
}

func (r *rig) wantGap(ops string, expected, got int) {
	r.Helper()
	res := r.apply(ops)
	if len(res.Accepted) != 0 || res.Gap == nil || res.Gap.Expected != expected || res.Gap.Got != got {
		r.Fatalf("accepted %v, gap %+v; want gap expected %d got %d", res.Accepted, res.Gap, expected, got)
	}
}

func (r *rig) wantPending(want string) {
	r.Helper()
	if got := r.pending(); got != want {
		r.Fatalf("pending %q, want %q", got, want)
	}
}

// wantRestored checks that a reset from the snapshot, taken as a value and
// from its JSON, gives the snapshot.
func (r *rig) wantRestored(s *Snapshot) {
	r.Helper()
	decoded, err := DecodeSnapshot(s.AppendJSON(nil))
	if err != nil {
		r.Fatal(err)
	}
	for _, from := range []*Snapshot{s, decoded} {
		fresh := NewTranscript("main")
		fresh.Apply([]Op{{Kind: OpReset, AgentID: "main", Snapshot: from}})
		if got, want := snapshotJSON(fresh.Snapshot(-1)), snapshotJSON(s); got != want {
			r.Fatalf("restored %s\nwant %s", got, want)
		}
	}
}
