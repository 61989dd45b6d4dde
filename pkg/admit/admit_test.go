package admit_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stenohq/steno/pkg/admit"
	"github.com/stenohq/steno/pkg/events"
)

// A script is a list of messages, one word each:
//
//	a3      event of run a with n 3, its event id is the word
//	a3=x    the same with event id x; a3= has none
//	a=x     event of run a without n, event id x
//	=x      event of no run, event id x
//	a3!     invalid message that names run a and n 3
//	a3@s    event of source run s
//	lost    a lost line
//
// and the outcome expected: + admitted, . double, > ahead, then N new run,
// S new source, L late, C conflict, and notices as (kind run from-to xcount).
type log struct {
	t     *testing.T
	state *admit.State
	seq   uint64
}

func (l *log) step(word string) string {
	l.t.Helper()
	l.seq++
	var d admit.Decision
	switch body, invalid := strings.CutSuffix(word, "!"); {
	case word == "lost":
		l.state.Lost()
		return "+"
	case invalid:
		run, n := name(body)
		d = l.state.Invalid(run, n)
	default:
		body, source, _ := strings.Cut(word, "@")
		body, id, given := strings.Cut(body, "=")
		ev := events.Event{ID: word, SourceRun: source}
		ev.RunID, ev.N = name(body)
		if given {
			ev.ID = id
		}
		d = l.state.Admit(l.seq, &ev)
	}
	l.reload()
	return describe(d)
}

// reload continues from the encoded state, after every message.
func (l *log) reload() {
	l.t.Helper()
	data := l.state.Append(nil)
	s, err := admit.Decode(data)
	if err != nil {
		l.t.Fatalf("Decode: %v", err)
	}
	l.state = s
}

// name splits a run's name from its ordinal: runs have no digits.
func name(s string) (run string, n uint64) {
	i := strings.IndexAny(s, "0123456789")
	if i < 0 {
		return s, 0
	}
	if _, err := fmt.Sscan(s[i:], &n); err != nil {
		panic(err)
	}
	return s[:i], n
}

func describe(d admit.Decision) string {
	out := [...]string{"+", ".", ">"}[d.Outcome]
	for _, f := range []struct {
		set  bool
		mark string
	}{{d.NewRun, "N"}, {d.NewSource, "S"}, {d.Late, "L"}, {d.Conflict, "C"}} {
		if f.set {
			out += f.mark
		}
	}
	for _, n := range d.Notices {
		kind := [...]string{"", "writers", "closed", "left", "loss", "late"}[n.Kind]
		out += fmt.Sprintf("(%s %s", kind, n.Run)
		if n.To > 0 {
			out += fmt.Sprintf(" %d-%d", n.From, n.To)
		}
		if n.Count > 0 {
			out += fmt.Sprintf(" x%d", n.Count)
		}
		out += ")"
	}
	return out
}

func TestRules(t *testing.T) {
	for _, tc := range []struct{ name, script string }{
		{"1 in order", `a1 +N, a2 +, a3 +`},
		{"1 without n", `=x +, a=y +N, a=z +, b=w +N`},
		{"1 an event of no run begins none", `a1 +N, =x +, a2 +, =y +`},
		{"1 mixed in one run", `a=x +N, a1 +, a=y +, a2 +`},
		{"1 n without a run does not count", `5=x +, 5=y +, 5=x .`},
		{"1 first n above 1 waits", `a2 >, a3 >, a1 +N, a2 +, a3 +`},

		{"2 double", `a1 +N, a1 ., a2 +, a1 ., a2 ., a3 +`},
		{"2 double without n", `=x +, =x ., a=x ., a=y +N, =y .`},
		{"2 no id is the position", `= +, = +, a= +N, =q2 ., =q9 +`},
		{"2 two writers", `a1 +N, a2 +, a1=u .C(writers a x1), a2=u .C(writers a x2), a1=v .C, a2=v .C(writers a x4), a3 +`},
		{"2 a double without id says nothing", `a1 +N, a1= ., a2= +, a2=x .`},
		{"2 ids of n and of casual events are apart", `a1=x +N, =x +, a2=x +`},
		{"2 only the current run's ids are known", `a1 +N, b1 +N, a1=x .`},

		{"3 ahead", `a1 +N, a3 >, a4 >, a2 +, a3 +, a4 +`},
		{"3 go back n after a failure", `a1 +N, a3 >, a4 >, a3 >, a2 +, a2 ., a3 +, a4 +, a5 +`},
		{"3 left ahead", `a1 +N, a3 >, a5 >, b1 +N(left a 3-5), c1 +N`},
		{"3 what came after all is not left", `a1 +N, a3 >, a2 +, a3 +, b1 +N`},
		{"3 left ahead before the first", `a4 >, a3 >, b1 +N(left a 3-4)`},
		{"3 left partly", `a1 +N, a4 >, a6 >, a2 +, b1 +N(left a 4-6)`},

		{"4 an older run", `a1 +N, b1 +N, a2 +L(late a x1), a3 +L(late a x2), a4 +L, a5 +L(late a x4), b2 +, a6 +L`},
		{"4 doubles and order of an older run", `a1 +N, b1 +N, a1 ., a3 >, a2 +L(late a x1), a3 +L(late a x2)`},
		{"4 an older run without n", `a=x +N, b=y +N, a=z +L(late a x1), a=z .`},
		{"4 back and forth", `a1 +N, b1 +N, a2 +L(late a x1), c1 +N, b2 +L(late b x1), c2 +`},

		{"5 loss in a run", `a1 +N, lost +, a4 +(loss a 2-3), a5 +, a7 >`},
		{"5 nothing lost", `a1 +N, lost +, a2 +, a4 >`},
		{"5 doubles behind a loss", `a1 +N, a2 +, lost +, a1 ., a4 +(loss a 3-3), a6 >`},
		{"5 what was lost comes again", `a1 +N, lost +, a4 +(loss a 2-3), a3 >, a2 +, a3 +, a2 ., a5 +`},
		{"5 an unknown run begins anywhere", `lost +, a7 +N(loss a 1-6), a8 +, b3 >`},
		{"5 until another begins", `lost +, a1 +N, b3 >, b1 +N`},
		{"5 older runs too", `a1 +N, b1 +N, lost +, a4 +L(loss a 2-3)(late a x1), a6 >, b9 +(loss b 2-8)`},
		{"5 a waiting run", `a3 >, lost +, a5 +N(loss a 1-4)`},
		{"5 two losses", `a1 +N, lost +, a3 +(loss a 2-2), lost +, a5 +(loss a 4-4), a2 +, a4 +`},

		{"5 an invalid message takes its n", `a1 +N, a2! +, a3 +, a2 .`},
		{"5 but begins no run", `a1! +, a2 +N`},
		{"5 nor anything else", `a1 +N, b1! +, a2 +, b2 +N`},
		{"5 invalid doubles and aheads", `a1 +N, a1! ., a3! >, a2 +, a3 +`},
		{"5 an invalid one has no id to differ from", `a1! +, a1 ., a2 +N`},
		{"5 an invalid one without n", `!  +, a1 +N`},

		{"a source within an import", `a1@s +N, a2@s +, a3 +, a4@t +S, a5@s +S, b1@s +N`},
		{"a source after events without", `a1 +N, a2@s +S`},
		{"a source of an older run", `a1@s +N, b1 +N, a2@t +L(late a x1), b2 +`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l := log{t: t, state: new(admit.State)}
			for part := range strings.SplitSeq(tc.script, ",") {
				word, want, _ := strings.Cut(strings.TrimSpace(part), " ")
				if got := l.step(word); got != strings.TrimSpace(want) {
					t.Fatalf("%s at %d: got %s, want %s", word, l.seq, got, want)
				}
			}
		})
	}
}

func TestNext(t *testing.T) {
	l := log{t: t, state: new(admit.State)}
	check := func(run string, next uint64, id, current string) {
		t.Helper()
		if n, last, cur := l.state.Next(run); n != next || last != id || cur != current {
			t.Errorf("Next(%s) = %d %q %q, want %d %q %q", run, n, last, cur, next, id, current)
		}
	}
	check("a", 1, "", "")
	l.step("a1")
	l.step("a2=second")
	l.step("a9")
	l.step("a=casual")
	check("a", 3, "second", "a")
	l.step("b1")
	check("a", 3, "second", "b")
	check("b", 2, "b1", "b")
	l.step("a3!")
	check("a", 4, "", "b")
	check("c", 1, "", "b")
}

// TestKeys: the run that resume and memory count under.
func TestKeys(t *testing.T) {
	var s admit.State
	for i, tc := range []struct {
		ev          events.Event
		run, former string
	}{
		{events.Event{}, "", ""},
		{events.Event{RunID: "file", N: 1, SourceRun: "one"}, "one", ""},
		{events.Event{RunID: "file", N: 2}, "one", ""},
		{events.Event{RunID: "file", N: 3, SourceRun: "two"}, "two", "one"},
		{events.Event{RunID: "live", N: 1}, "live", "two"},
		{events.Event{RunID: "file", N: 4}, "two", ""},
		{events.Event{RunID: "file", N: 5, SourceRun: "three"}, "three", ""},
	} {
		d := s.Admit(uint64(i), &tc.ev)
		if d.Outcome != admit.Admitted || d.Run != tc.run || d.Former != tc.former {
			t.Errorf("%d: %+v, want run %q, former %q", i, d, tc.run, tc.former)
		}
	}
}

func TestUUIDv7Order(t *testing.T) {
	id := func(i int, version string) string { return fmt.Sprintf("019c0000-0000-%s000-8000-%012d", version, i) }
	admitted := func(s *admit.State, run string, n uint64) string {
		return describe(s.Admit(0, &events.Event{RunID: run, N: n, ID: fmt.Sprint(run, n)}))
	}
	for _, tc := range []struct{ current, other, want string }{
		{id(5, "7"), id(6, "7"), "+N"},
		{id(5, "7"), id(4, "7"), "+L"},
		{id(5, "7"), strings.ToUpper("019c0000-0000-7000-8000-00000000000"), "+N"}, // no UUID
		{id(5, "7"), id(4, "4"), "+N"},
		{id(5, "4"), id(4, "7"), "+N"},
		{"zzz", id(4, "7"), "+N"},
		{id(5, "7"), "aaa", "+N"},
		{"019c0000-0000-7000-8000-00000000000b", "019C0000-0000-7000-8000-00000000000A", "+L"},
		{"019c0000-0000-7000-8000-00000000000a", "019C0000-0000-7000-8000-00000000000B", "+N"},
	} {
		var s admit.State
		admitted(&s, tc.current, 1)
		got, _, _ := strings.Cut(admitted(&s, tc.other, 1), "(")
		if got != tc.want {
			t.Errorf("%s after %s: %s, want %s", tc.other, tc.current, got, tc.want)
		}
	}
	// A spool that comes after its successor is an older run from then on.
	var s admit.State
	admitted(&s, id(5, "7"), 1)
	if got := admitted(&s, id(4, "7"), 2); got != ">" {
		t.Errorf("n 2 of an older run: %s", got)
	}
	if got := admitted(&s, id(4, "7"), 1); !strings.HasPrefix(got, "+L") {
		t.Errorf("n 1 of an older run: %s", got)
	}
	if got := admitted(&s, id(4, "7"), 2); !strings.HasPrefix(got, "+L") {
		t.Errorf("n 2 behind it: %s", got)
	}
	if s.Current() != id(5, "7") {
		t.Error("an older run took over")
	}
}

// TestHoleCloses: the 4,096th message ahead closes the hole, and the range it
// leaves is a receiver of its own.
func TestHoleCloses(t *testing.T) {
	var s admit.State
	admitN := func(n uint64) string { return describe(s.Admit(0, &events.Event{RunID: "a", N: n, ID: fmt.Sprint(n)})) }
	admitN(1)
	for i := range uint64(admit.MaxAhead - 1) {
		if got := admitN(100 + i); got != ">" {
			t.Fatalf("message %d ahead: %s", i+1, got)
		}
		if got := admitN(1); got != "." { // doubles do not count
			t.Fatalf("double: %s", got)
		}
	}
	for _, step := range []struct {
		n    uint64
		want string
	}{
		{50, "+(closed a 2-49)"},
		{51, "+"},
		{10, ">"},
		{49, ">"},
		{2, "+"},
		{2, "."},
		{4, ">"},
		{3, "+"},
		{52, "+"},
		{53, "+"},
		{53, "."},
		{55, ">"},
	} {
		if got := admitN(step.n); got != step.want {
			t.Errorf("n %d: %s, want %s", step.n, got, step.want)
		}
	}
	for n := uint64(4); n < 50; n++ {
		if got := admitN(n); got != "+" {
			t.Fatalf("n %d of the closed range: %s", n, got)
		}
	}
	if got := admitN(49); got != "." {
		t.Errorf("the range is used up, but n 49: %s", got)
	}
}

// TestAheadIsCountedAnew after an admitted message.
func TestAheadIsCountedAnew(t *testing.T) {
	var s admit.State
	admitN := func(n uint64) string { return describe(s.Admit(0, &events.Event{RunID: "a", N: n})) }
	admitN(1)
	for range admit.MaxAhead - 1 {
		admitN(9)
	}
	admitN(2)
	for i := range admit.MaxAhead - 1 {
		if got := admitN(9); got != ">" {
			t.Fatalf("message %d ahead: %s", i+1, got)
		}
	}
	if got := admitN(9); got != "+(closed a 3-8)" {
		t.Errorf("the last message ahead: %s", got)
	}
}

func TestRangesAreBounded(t *testing.T) {
	var s admit.State
	admitN := func(n uint64) string { return describe(s.Admit(0, &events.Event{RunID: "a", N: n})) }
	admitN(1)
	for i := range uint64(admit.MaxRanges + 2) {
		s.Lost()
		n := 10 * (i + 1)
		if got := admitN(n); !strings.HasPrefix(got, "+(loss") {
			t.Fatalf("n %d: %s", n, got)
		}
	}
	for n, want := range map[uint64]string{2: ".", 11: ".", 21: "+", 91: "+"} {
		if got := admitN(n); got != want {
			t.Errorf("n %d: %s, want %s", n, got, want)
		}
	}
}

func TestRunsAreBounded(t *testing.T) {
	var s admit.State
	run := func(i int) string { return fmt.Sprintf("run-%d", i) }
	for i := range admit.MaxRuns + 10 {
		s.Admit(0, &events.Event{RunID: run(i), N: 1})
	}
	for i, want := range map[int]uint64{9: 1, 10: 2, admit.MaxRuns + 9: 2} {
		if next, _, _ := s.Next(run(i)); next != want {
			t.Errorf("run %d goes on with %d, want %d", i, next, want)
		}
	}
	for i := range admit.MaxWaiting + 3 {
		s.Admit(0, &events.Event{RunID: fmt.Sprintf("waits-%d", i), N: 3})
	}
	if size := len(s.Append(nil)); size > 20_000 {
		t.Errorf("the state has %d bytes", size)
	}
	d := s.Admit(0, &events.Event{RunID: "last", N: 1})
	if len(d.Notices) != admit.MaxWaiting {
		t.Errorf("%d runs were left ahead, want the last %d", len(d.Notices), admit.MaxWaiting)
	}
}

func TestCasualIDsAreBounded(t *testing.T) {
	var s admit.State
	admitID := func(i int) admit.Outcome { return s.Admit(0, &events.Event{ID: fmt.Sprint("id-", i)}).Outcome }
	for i := range admit.MaxCasual + 1 {
		admitID(i)
	}
	if admitID(1) != admit.Double || admitID(admit.MaxCasual) != admit.Double {
		t.Error("an id among the last is not recognised")
	}
	if admitID(0) != admit.Admitted {
		t.Error("an id before the last is still known")
	}
}

func TestWritersAreComparedWithTheLast(t *testing.T) {
	var s admit.State
	admitN := func(n uint64, id string) admit.Decision { return s.Admit(0, &events.Event{RunID: "a", N: n, ID: id}) }
	for n := range uint64(admit.MaxAdmitted + 1) {
		admitN(n+1, "mine")
	}
	if d := admitN(1, "other"); d.Conflict {
		t.Error("the first id is still remembered")
	}
	if d := admitN(2, "other"); !d.Conflict {
		t.Error("an id among the last is forgotten")
	}
}
