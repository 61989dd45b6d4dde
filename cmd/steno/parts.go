package main

import (
	"log/slog"
	"net"

	"github.com/stenohq/steno/cmd/internal/stack"
	"github.com/stenohq/steno/internal/archive"
)

// parts adds the services of the roles to those of the engine. done releases
// what they used, when they have ended.
func (o *upOptions) parts(b *stack.Backend, parts []stack.Part, roles map[string]bool, data string, ln net.Listener, log *slog.Logger) (all []stack.Part, done func() error, err error) {
	done = func() error { return nil }
	name := memberUp
	if len(parts) == 0 { // an outside server: others may run there too
		name = stack.MemberName()
	}
	var reader archive.Reader
	if roles["projector"] {
		parts = append(parts, b.Projector(name, log))
	}
	if roles["gateway"] {
		parts = append(parts, b.Gateway(ln, reader, log))
	}
	return parts, done, nil
}
