package main

import (
	"log/slog"
	"net"

	"github.com/stenohq/steno/cmd/internal/stack"
	"github.com/stenohq/steno/internal/archive"
	"github.com/stenohq/steno/internal/archive/wirelog"
)

// parts adds the services of the roles to those of the engine.
func (o *upOptions) parts(b *stack.Backend, parts []stack.Part, roles map[string]bool, data string, ln net.Listener, log *slog.Logger) []stack.Part {
	name := memberUp
	if len(parts) == 0 { // an outside server: others may run there too
		name = stack.MemberName()
	}
	var reader archive.Reader
	if roles["recorder"] {
		reader = wirelog.NewReader(data)
		parts = append(parts, b.Recorder("", data, log))
	}
	if roles["projector"] {
		parts = append(parts, b.Projector(name, log))
	}
	if roles["gateway"] {
		parts = append(parts, b.Gateway(ln, reader, log))
	}
	return parts
}
