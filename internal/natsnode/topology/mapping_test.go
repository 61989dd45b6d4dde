package topology_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/stenohq/steno/internal/natsnode/topology"
	"github.com/stenohq/steno/internal/natstest"
)

func TestCheckMapping(t *testing.T) {
	n := natstest.StartNode(t, natstest.NoListen())
	for range 3 {
		if err := topology.CheckMapping(t.Context(), n.JS().Conn(), 16); err != nil {
			t.Fatal(err)
		}
	}
	s, err := n.JS().Stream(t.Context(), "STENO_EVENTS_0")
	if err != nil {
		t.Fatal(err)
	}
	if kept := s.CachedInfo().State.Msgs; kept != 0 {
		t.Errorf("the stream keeps %d probes", kept)
	}
}

func TestCheckMappingOfAnOutsideServer(t *testing.T) {
	for name, c := range map[string]struct{ dst, want string }{
		"missing":     {"", "is missing"},
		"fewer slots": {"steno.ev.{{partition(1,1)}}.{{wildcard(1)}}.{{wildcard(2)}}", "is another one"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv, err := server.NewServer(&server.Options{DontListen: true, NoSigs: true})
			if err != nil {
				t.Fatal(err)
			}
			if c.dst != "" {
				if err := srv.GlobalAccount().AddMapping("steno.events.*.*", c.dst); err != nil {
					t.Fatal(err)
				}
			}
			srv.Start()
			defer srv.WaitForShutdown()
			defer srv.Shutdown()
			nc, err := nats.Connect("", nats.InProcessServer(srv))
			if err != nil {
				t.Fatal(err)
			}
			defer nc.Close()
			for range 100 { // one session in sixteen has slot 0 in any case
				if err = topology.CheckMapping(t.Context(), nc, 16); err != nil {
					break
				}
			}
			if _, ok := errors.AsType[*topology.MappingError](err); !ok || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "partition(16,1)") {
				t.Errorf("got %v", err)
			}
		})
	}
}
