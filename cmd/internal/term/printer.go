package term

import (
	"bufio"
	"fmt"
	"hash/fnv"
	"io"
	"strings"

	"github.com/stenohq/steno/pkg/reducer"
)

// Options of a Printer.
type Options struct {
	Style  Style
	Agents bool // begin lines with the agent they are about
	Lines  int  // of a tool's output; 0 is all
}

// Printer writes a transcript as it grows: batches of operations, each once and
// in order, and at any time a whole in place of those that were missed. It
// remembers what it has written, so that of a whole it writes only what is new.
// It is used by one goroutine; Flush after each change.
type Printer struct {
	out    *bufio.Writer // keeps its first error, which Flush returns
	opts   Options
	agents map[string]*agentView
	open   string // key of the text whose line is not ended
}

// agentView is what was written of an agent.
type agentView struct {
	turns map[string]*turnView
	floor int               // turns below are forgotten, and not written again
	said  map[string]uint64 // markers and entities: hash of what was written
	order []string          // keys of said, oldest first
}

type turnView struct {
	ordinal int
	begun   bool
	ended   string
	steps   map[string]string // step: what was written of it last
	frames  map[string]*frameView
}

type frameView struct {
	units  int    // UTF-16 units written
	sum    uint64 // of the text written
	called bool
	margin string // of its lines
	state  reducer.ToolState
}

// What is remembered, per agent.
const (
	keepTurns = 200
	keepSaid  = 5000
)

// NewPrinter writes to w.
func NewPrinter(w io.Writer, opts Options) *Printer {
	return &Printer{out: bufio.NewWriter(w), opts: opts, agents: make(map[string]*agentView)}
}

// Flush writes what is buffered.
func (p *Printer) Flush() error { return p.out.Flush() }

// End ends an open line and flushes.
func (p *Printer) End() error {
	p.endLine()
	return p.out.Flush()
}

// Note writes a line of the program itself.
func (p *Printer) Note(text string) { p.line("", p.opts.Style.Dim("— "+Line(text))) }

// Forget gives up what was written of an agent: it begins anew.
func (p *Printer) Forget(agent string) { delete(p.agents, agent) }

func (p *Printer) agent(id string) *agentView {
	a := p.agents[id]
	if a == nil {
		a = &agentView{turns: make(map[string]*turnView), said: make(map[string]uint64)}
		p.agents[id] = a
	}
	return a
}

// turn finds what was written of a turn; nil for one that is forgotten.
func (a *agentView) turn(id string) *turnView {
	if t := a.turns[id]; t != nil {
		return t
	}
	ordinal := ordinalOf(id)
	if ordinal < a.floor {
		return nil
	}
	t := &turnView{ordinal: ordinal, steps: make(map[string]string), frames: make(map[string]*frameView)}
	a.turns[id] = t
	if len(a.turns) > keepTurns {
		a.floor = ordinal - keepTurns/2
		for id, old := range a.turns {
			if old.ordinal < a.floor {
				delete(a.turns, id)
			}
		}
	}
	return t
}

func ordinalOf(turnID string) int {
	n := 0
	for _, c := range strings.TrimPrefix(turnID, "t") {
		if c < '0' || c > '9' || n > 1<<50 {
			return n
		}
		n = n*10 + int(c-'0')
	}
	return n
}

// news says whether something differs from what was written under its name.
func (a *agentView) news(key, what string) bool {
	sum := hash(what)
	before, known := a.said[key]
	if known && before == sum {
		return false
	}
	if !known {
		a.order = append(a.order, key)
		if len(a.order) > keepSaid {
			delete(a.said, a.order[0])
			a.order = a.order[1:]
		}
	}
	a.said[key] = sum
	return true
}

func hash(s string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(s)) // a hash's Write never fails
	return h.Sum64()
}

// line writes a line of safe text.
func (p *Printer) line(agent, text string) {
	p.endLine()
	fmt.Fprintf(p.out, "%s%s\n", p.margin(agent), text)
}

// stream writes more of a text whose line may be open.
func (p *Printer) stream(agent, key, margin, text string) {
	if text == "" {
		return
	}
	margin = p.margin(agent) + margin
	key = agent + " " + key
	if p.open != key {
		p.endLine()
		p.write(margin)
	}
	p.open = key
	for {
		before, after, more := strings.Cut(text, "\n")
		p.write(Safe(before))
		if !more {
			return
		}
		p.write("\n")
		p.open = ""
		if after == "" {
			return
		}
		p.write(margin)
		p.open = key
		text = after
	}
}

func (p *Printer) write(s string) { _, _ = p.out.WriteString(s) }

func (p *Printer) endLine() {
	if p.open != "" {
		p.write("\n")
		p.open = ""
	}
}

func (p *Printer) margin(agent string) string {
	if !p.opts.Agents || agent == "" {
		return ""
	}
	return p.opts.Style.Cyan("["+Line(agent)+"]") + " "
}
