// Package view chooses what renders a piece of a transcript: a registry from
// tools, turn inputs and markers to whatever a user interface renders with. The
// package has no clock, no randomness, no I/O.
package view

import (
	"strings"

	"github.com/stenohq/steno/pkg/reducer"
)

// Registry maps pieces of a transcript to renderers of type R. Each kind of
// piece has a fallback, so nothing renders blank. A Registry may be read by
// any number of goroutines once nothing is added any more.
type Registry[R any] struct {
	tools, inputs, markers map[string]R
	fallback               Fallbacks[R]
}

// Fallbacks render what nothing was registered for.
type Fallbacks[R any] struct{ Tool, Input, Marker R }

// New returns a registry that knows nothing but its fallbacks.
func New[R any](f Fallbacks[R]) *Registry[R] {
	return &Registry[R]{tools: map[string]R{}, inputs: map[string]R{}, markers: map[string]R{}, fallback: f}
}

// Tool registers the renderer of the tools with that view or name, whatever
// their case, and returns the registry.
func (r *Registry[R]) Tool(key string, renderer R) *Registry[R] {
	r.tools[strings.ToLower(key)] = renderer
	return r
}

// Input registers the renderer of turn inputs with that kind of origin.
func (r *Registry[R]) Input(kind reducer.OriginKind, renderer R) *Registry[R] {
	r.inputs[string(kind)] = renderer
	return r
}

// Marker registers the renderer of that marker.
func (r *Registry[R]) Marker(marker string, renderer R) *Registry[R] {
	r.markers[marker] = renderer
	return r
}

// ForTool returns the renderer of a tool frame: by its view if it has one,
// else by its name.
func (r *Registry[R]) ForTool(f *reducer.Frame) R {
	key := f.View
	if key == "" {
		key = f.Name
	}
	return resolve(r.tools, strings.ToLower(key), r.fallback.Tool)
}

// ForInput returns the renderer of a turn's input.
func (r *Registry[R]) ForInput(o reducer.Origin) R {
	return resolve(r.inputs, string(o.Kind), r.fallback.Input)
}

// ForMarker returns the renderer of a marker.
func (r *Registry[R]) ForMarker(m *reducer.Marker) R {
	return resolve(r.markers, m.Marker, r.fallback.Marker)
}

func resolve[R any](m map[string]R, key string, fallback R) R {
	if v, ok := m[key]; ok {
		return v
	}
	return fallback
}
