package reducer

import "testing"

// windowed is a transcript whose oldest turn is t5, with steps 3 and 4 of it.
func windowed(t *testing.T) *rig {
	return newRig(t, `{"op":"reset","agentId":"main","snapshot":{"hasMoreOlder":true,"items":[
		{"kind":"turn","turnId":"t5","ordinal":5,"state":"running","origin":{"kind":"user"},"hasMoreSteps":true,"steps":[
			{"kind":"step","stepId":"t5.3","turnId":"t5","ordinal":3,"state":"completed","frames":[]},
			{"kind":"step","stepId":"t5.4","turnId":"t5","ordinal":4,"state":"running","frames":[{"kind":"thinking","frameId":"f","text":"x"}]}]},
		{"kind":"turn","turnId":"t6","ordinal":6,"state":"running","origin":{"kind":"user"},"steps":[]}]}}`)
}

func TestFloor(t *testing.T) {
	for name, ops := range map[string]string{
		"turn":                         opTurn("t4"),
		"step":                         opStep("t4.1"),
		"frame":                        opText("t4.1", "f", "x"),
		"append":                       opAppend("t4.1", "f", "7", "x"),
		"older step":                   opStep("t5.2"),
		"frame of an older step":       opText("t5.2", "f", "x"),
		"append to an older step":      opAppend("t5.2", "f", "7", "x"),
		"marker before the floor":      opMarker("m", "before 5"),
		"marker far before the floor":  opMarker("m", "before 0"),
		"task ref before the floor":    opMark("taskref", "r", "before 5"),
		"append to an unloaded task":   opTail("k", "7", "x"),
		"append that makes no task":    opTail("k", "0", "x"),
		"unknown turn without ordinal": opStep("zzz.1"),
	} {
		t.Run("ignored: "+name, func(t *testing.T) {
			r := windowed(t)
			before := r.json()
			r.accept(0, ops)
			if r.json() != before {
				t.Fatalf("%s\nwas %s", r.json(), before)
			}
		})
	}
	for name, ops := range map[string]string{
		"turn at the floor":       opTurn("t5", `"prompt":"p"`),
		"later turn":              opTurn("t7"),
		"step held":               opStep("t5.3", `"state":"failed"`),
		"later step":              opStep("t5.5"),
		"frame of a held step":    opText("t5.3", "g", "x"),
		"append":                  opAppend("t5.4", "f", "1", "y"),
		"first step of a turn":    opStep("t6.1"),
		"marker behind the floor": opMarker("m", "before 6"),
		"marker at the end":       opMarker("m"),
		"remove":                  opRemove("t5"),
	} {
		t.Run("taken: "+name, func(t *testing.T) {
			windowed(t).accept(1, ops)
		})
	}
}

func TestFloorKnownMarker(t *testing.T) {
	r := windowed(t)
	r.apply(opMarker("m", "before 6"))
	r.accept(1, opMarker("m", "before 5", `"payload":1`))
	r.wantOrder("t5 m t6")
}

func TestNoFloorWithoutTurns(t *testing.T) {
	r := newRig(t, `{"op":"reset","agentId":"main","snapshot":{"hasMoreOlder":true,"items":[]}}`)
	r.accept(1, opText("t3.1", "f", "x"))
	r.accept(0, opTurn("t2")) // now t3 is the floor
	r.wantOrder("t3")
}

// A header from the fold does not know about this client's window.
func TestHeaderKeepsHasMoreSteps(t *testing.T) {
	r := windowed(t)
	r.accept(1, opTurn("t5", `"prompt":"p"`))
	r.accept(0, opStep("t5.1"))
	r.wantHas(`"hasMoreSteps":true`)
	r.accept(0, opTurn("t5", `"prompt":"p"`))
	r.accept(1, opTurn("t6", `"hasMoreSteps":true`))
}

func TestLoadingAnOlderPageLowersTheFloor(t *testing.T) {
	r := windowed(t)
	page := newRig(t, batch(opTurn("t3"), opText("t3.1", "f", "a"), opTurn("t4")))
	r.tr.LoadOlder(page.tr.Snapshot(-1), true)
	r.wantOrder("t3 t4 t5 t6")
	r.accept(1, opAppend("t3.1", "f", "1", "b"))
	r.accept(0, opTurn("t2"))
	steps := newRig(t, batch(opTurn("t5"), opText("t5.2", "g", "old")))
	r.tr.LoadOlder(steps.tr.Snapshot(-1), r.tr.HasMoreOlder())
	r.wantHas(`"stepId":"t5.2"`)
	r.accept(1, opAppend("t5.2", "g", "3", "er"))
	r.accept(1, opStep("t5.1")) // the page said that there are no older ones
	r.wantOrder("t3 t4 t5 t6")
}
