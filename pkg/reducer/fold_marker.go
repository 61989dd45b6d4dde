package reducer

import (
	"slices"
	"strconv"
	"strings"

	"github.com/stenohq/steno/pkg/events/scan"
)

// with returns the object with a string member in front, and without the ones
// named.
func (p *foldPayload) with(member, value string, without ...string) Raw {
	dst := []byte{'{'}
	if member != "" {
		dst = scan.AppendQuote(name(dst, member), value)
	}
	m := scan.ObjectOf(p.f.ev.Payload)
	for m.Next() {
		if key := m.Key(); key == member || slices.Contains(without, key) {
			continue
		}
		if len(dst) > 1 {
			dst = append(dst, ',')
		}
		dst = append(append(append(dst, m.RawKey()...), ':'), m.Value()...)
	}
	return Raw(append(dst, '}'))
}

// compaction folds the compaction.* types.
func (f *Fold) compaction(p *foldPayload) {
	f.addMarker("compaction", p.with("phase", strings.TrimPrefix(f.ev.Type, "compaction.")))
}

// hookResult folds hook.result.
func (f *Fold) hookResult(p *foldPayload) { f.addMarker("hook", p.all()) }

// skillActivated folds skill.activated.
func (f *Fold) skillActivated(p *foldPayload) { f.addMarker("skill", p.all()) }

// pluginCommand folds plugin_command.activated.
func (f *Fold) pluginCommand(p *foldPayload) {
	f.addMarker("skill", p.with("variant", "plugin_command"))
}

// cronFired folds cron.fired.
func (f *Fold) cronFired(p *foldPayload) { f.addMarker("cron.fired", p.all()) }

// contextSpliced folds context.spliced: only what was deleted shows.
func (f *Fold) contextSpliced(p *foldPayload) {
	p.number("start")
	if p.number("deleteCount").V > 0 {
		f.addMarker("undo", p.with("", "", "messages"))
	}
}

// errorReported folds error and warning.
func (f *Fold) errorReported(p *foldPayload) {
	level := LevelWarning
	if f.ev.Type == "error" {
		level = LevelError
	}
	n := Notice{Level: level, Message: p.required("message").V, Event: f.ev.Type}
	for _, m := range p.members {
		if m.name != "message" {
			n.Detail = p.all()
		}
	}
	f.addMarker("notice", noticePayload(n, 0))
}

// skipped folds steno.skipped.
func (f *Fold) skipped(p *foldPayload) {
	number, ok := p.ordinal("n", 0)
	typ, reason := p.word("event_type"), p.word("reason")
	message := "an event"
	if ok && number.Set {
		message = "event " + strconv.Itoa(number.V) + " of its run"
	}
	if typ != "" {
		message += " (" + typ + ")"
	}
	message += " was not recorded"
	if reason != "" {
		message += ": " + reason
	}
	f.addMarker("notice", noticePayload(Notice{Level: LevelWarning, Message: message, Event: f.ev.Type, Detail: p.all()}, 0))
}
