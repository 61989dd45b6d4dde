package reducer

import "testing"

// TestGoldenVectors has the cases of the conformance list's last section.
func TestGoldenVectors(t *testing.T) {
	const high, low = "\xED\xA0\xBD", "\xED\xB8\x80" // halves of U+1F600
	for name, test := range map[string]func(*rig){
		"end":                       growCase("abc", 3, "d", "abcd"),
		"present":                   growCase("abc", 1, "bc", "abc"),
		"present in the middle":     growCase("abc", 1, "b", "abc"),
		"novel suffix":              growCase("abc", 1, "bcd", "abcd"),
		"behind the end":            gapCase("abc", 5, "x", 3),
		"differs":                   gapCase("abc", 1, "x", 3),
		"differs, longer":           gapCase("hello", 2, " world", 5),
		"empty at the start":        growCase("abc", 0, "", "abc"),
		"empty at the end":          growCase("abc", 3, "", "abc"),
		"empty behind the end":      gapCase("abc", 4, "", 3),
		"halves join":               growCase("a"+high, 2, low+"b", "a😀b"),
		"inside a pair":             gapCase("a😀", 2, "b", 3),
		"inside a pair, same half":  growCase("a😀", 2, low+"b", "a😀b"),
		"ends inside a pair":        growCase("a😀b", 1, high, "a😀b"),
		"a half again":              growCase("a"+high, 1, high, "a"+high),
		"a half, then another":      growCase("a"+high, 2, high, "a"+high+high),
		"a half over the end":       growCase("a"+high, 1, high+low+"z", "a😀z"),
		"a low half alone":          growCase("a", 1, low+"b", "a"+low+"b"),
		"an emoji over the overlap": growCase("x😀", 1, "😀y", "x😀y"),
		"wide text from the front":  growCase("äöü😀€", 1, "öü😀€!", "äöü😀€!"),
		"negative offset":           gapCase("abc", -1, "x", 3),

		"frame missing": func(r *rig) {
			r.wantGap(opAppend("t1.1", "f", "0", "x"), 0, 0)
			r.wantOrder("")
		},
		"frame not appendable": func(r *rig) {
			r.apply(opTool("t1.1", "c"))
			r.wantGap(opAppend("t1.1", "t1.1.c", "0", "x"), 0, 0)
		},
		"task missing, empty": func(r *rig) {
			r.accept(0, opTail("k", "0", ""))
			r.wantHas(`"tasks":[]`)
		},
		"task missing, later": func(r *rig) { r.wantGap(opTail("k", "1", "x"), 0, 1) },
		"task missing, made": func(r *rig) {
			r.accept(1, opTail("k", "0", "y"))
			r.wantHas(`"tasks":[{"taskId":"k","kind":"other","state":"running","detached":false,"outputTail":"y"}]`)
		},
		"a batch with gaps goes on": func(r *rig) {
			r.apply(opTail("k", "0", "y"))
			res := r.apply(batch(opTail("k", "9", "a"), opTail("k", "1", "z"), opTail("k", "7", "b")))
			if len(res.Accepted) != 1 || res.Accepted[0] != 1 || res.Gap == nil || res.Gap.Expected != 2 || res.Gap.Got != 7 {
				r.Fatalf("%+v %+v", res.Accepted, res.Gap)
			}
			r.wantHas(`"outputTail":"yz"`)
		},
		"another origin task": func(r *rig) {
			// Equality is by value here: the original compares payloads by identity.
			with := func(task, payload string) string {
				return `{"op":"turn.upsert","turn":{"turnId":"t1","ordinal":1,"state":"running","origin":{"kind":"task","taskId":"` + task + `","payload":` + payload + `}}}`
			}
			r.accept(1, with("a", `{"x":1}`))
			r.accept(1, with("b", `{"x":1}`))
			r.accept(0, with("b", `{"x":1}`))
			r.accept(1, with("b", `{"x":1.0}`))
		},
		"a marker twice": func(r *rig) {
			r.accept(1, opMarker("m", `"payload":{"a":[1]}`))
			r.accept(0, opMarker("m", `"payload":{"a":[1]}`))
		},
		"a marker with the id of a turn": func(r *rig) {
			r.apply(batch(opTurn("t1"), opTurn("t2"), opTurn("t3")))
			r.accept(1, opMarker("t2"))
			r.wantOrder("t1 t2 t3")
			r.wantHas(`{"kind":"marker","markerId":"t2"`)
			r.wantNot(`{"kind":"turn","turnId":"t2"`)
		},
		"a turn with the id of a marker": func(r *rig) {
			r.apply(batch(opTurn("t1"), opMarker("t2"), opTurn("t3")))
			r.accept(1, opTurn("t2"))
			r.wantOrder("t1 t2 t3")
			r.wantHas(`{"kind":"turn","turnId":"t2"`)
		},
		"a reset of another agent": func(r *rig) {
			r.accept(1, `{"op":"reset","agentId":"other","snapshot":{"items":[{"kind":"marker","markerId":"m","marker":"goal"}]}}`)
			r.wantOrder("m")
		},
		"a reset is always a change": func(r *rig) {
			reset := `{"op":"reset","agentId":"main","snapshot":{"items":[]}}`
			r.accept(2, batch(reset, reset))
		},
		"window 0 without turns": func(r *rig) {
			r.apply(opMarker("m"))
			if s := r.tr.Snapshot(0); order(s) != "m" || s.HasMoreOlder() {
				r.Fatalf("%s", snapshotJSON(s))
			}
		},
		"window 0 with a turn": func(r *rig) {
			r.apply(batch(opMarker("m"), opTurn("t1")))
			if s := r.tr.Snapshot(0); order(s) != "" || !s.HasMoreOlder() {
				r.Fatalf("%s", snapshotJSON(s))
			}
		},
		"window 1 with one turn": func(r *rig) {
			r.apply(batch(opMarker("m1"), opTurn("t1"), opMarker("m2")))
			if s := r.tr.Snapshot(1); order(s) != "m1 t1 m2" || s.HasMoreOlder() {
				r.Fatalf("%s", snapshotJSON(s))
			}
		},
		"meta without effect": func(r *rig) {
			r.accept(1, opMeta(`{"agent":{}}`)) // the value {} where there was none
			r.accept(0, opMeta(`{"agent":{}}`))
			r.accept(0, opMeta(`{"modes":{}}`))
			r.accept(0, opMeta(`{"goal":null}`))
			r.accept(0, opMeta(`{}`))
			r.accept(0, opMeta(`{"activity":null}`))
		},
	} {
		t.Run(name, func(t *testing.T) { test(newRig(t)) })
	}
}
