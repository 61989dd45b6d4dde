package grade

import (
	"fmt"
	"maps"
	"slices"

	"github.com/stenohq/steno/pkg/events/scan"
)

// Wildcard stands in a Spec for every agent that is not named.
const Wildcard = "*"

// Spec says which grade each agent of a session is watched at. An agent that
// is not named has the grade of the Wildcard; absent is Off. A nil Spec watches
// nothing. A Spec is a value: its methods return a new one.
type Spec map[string]Grade

// Of returns the grade of an agent.
func (s Spec) Of(agent string) Grade {
	if g, ok := s[agent]; ok {
		return g
	}
	return s[Wildcard]
}

// Detach returns the spec without the agents. A named agent gets an explicit
// Off, since leaving it out would fall back to the Wildcard; detaching the
// Wildcard removes it. A spec that watches nothing any more is nil.
func (s Spec) Detach(agents ...string) Spec {
	out := maps.Clone(s)
	for _, a := range agents {
		switch {
		case out == nil:
		case a == Wildcard:
			delete(out, a)
		default:
			out[a] = Off
		}
	}
	return out.collapse()
}

// collapse returns nil for a spec with nothing above off.
func (s Spec) collapse() Spec {
	for _, g := range s {
		if g != Off {
			return s
		}
	}
	return nil
}

// AppendJSON appends the spec as an object, sorted by agent.
func (s Spec) AppendJSON(dst []byte) []byte {
	dst = append(dst, '{')
	for i, a := range slices.Sorted(maps.Keys(s)) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(scan.AppendQuote(dst, a), ':')
		dst = scan.AppendQuote(dst, s[a].String())
	}
	return append(dst, '}')
}

// DecodeSpec reads a JSON object of agent ids and grade names. It does not
// check the ids.
func DecodeSpec(data []byte) (Spec, error) {
	s := Spec{}
	m := scan.ObjectOf(data)
	for m.Next() {
		name, ok := scan.Unquote(m.Value())
		if !ok {
			return nil, fmt.Errorf("grade of agent %q: want a string, have %s", m.Key(), scan.KindOf(m.Value()))
		}
		g, err := Parse(name)
		if err != nil {
			return nil, fmt.Errorf("agent %q: %w", m.Key(), err)
		}
		s[m.Key()] = g
	}
	if err := m.Err(); err != nil {
		return nil, fmt.Errorf("grades: %w", err)
	}
	return s, nil
}
