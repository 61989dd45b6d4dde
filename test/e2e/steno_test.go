package e2e

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// system is a running Steno at fixed addresses, so that its processes can be
// killed and come back.
type system struct {
	t             *testing.T
	data          string
	gateway, nats string // host:port
	args          []string
	up            *proc
}

// startUp runs steno up with the given roles.
func startUp(t *testing.T, roles string, args ...string) *system {
	t.Helper()
	s := &system{t: t, data: t.TempDir(), gateway: freeAddress(t), nats: freeAddress(t)}
	s.args = append([]string{
		"up", "--data", s.data, "--listen", s.gateway, "--nats-listen", s.nats, "--roles", roles,
	}, args...)
	s.restart()
	return s
}

// restart runs steno up again, after it was killed.
func (s *system) restart() {
	s.t.Helper()
	s.up = start(s.t, "steno", s.args...)
	s.up.shows("ready ")
}

func (s *system) gatewayURL() string { return "http://" + s.gateway }
func (s *system) natsURL() string    { return "nats://" + s.nats }

// get reads a path of the gateway.
func (s *system) get(path string) (int, []byte) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.gatewayURL()+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp.StatusCode, body
}

// mustGet reads JSON into v.
func (s *system) mustGet(path string, v any) []byte {
	s.t.Helper()
	code, body := s.get(path)
	if code != http.StatusOK {
		s.t.Fatalf("GET %s: %d %s", path, code, body)
	}
	if v != nil {
		if err := json.Unmarshal(body, v); err != nil {
			s.t.Fatalf("GET %s: %v in %.200s", path, err, body)
		}
	}
	return body
}

// stream opens the event stream.
func (s *system) stream() jetstream.Stream {
	s.t.Helper()
	nc, err := nats.Connect(s.natsURL())
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		s.t.Fatal(err)
	}
	stream, err := js.Stream(s.t.Context(), "STENO_EVENTS_0")
	if err != nil {
		s.t.Fatal(err)
	}
	return stream
}

// stored counts the messages of the event stream.
func (s *system) stored() uint64 {
	s.t.Helper()
	info, err := s.stream().Info(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	return info.State.Msgs
}

// message is one stored message of an agent log.
type message struct {
	seq  uint64 // of the stream
	data []byte
}

// messages reads an agent log from the stream. The ids need no escapes.
func (s *system) messages(session, agent string) []message {
	s.t.Helper()
	stream := s.stream()
	var all []message
	for next := uint64(1); ; {
		msg, err := stream.GetMsg(s.t.Context(), next, jetstream.WithGetMsgSubject("steno.ev.*."+session+"."+agent))
		if err != nil {
			if errors.Is(err, jetstream.ErrMsgNotFound) {
				return all
			}
			s.t.Fatal(err)
		}
		all = append(all, message{msg.Sequence, msg.Data})
		next = msg.Sequence + 1
	}
}

// eventually waits for something that has no signal of its own.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}
