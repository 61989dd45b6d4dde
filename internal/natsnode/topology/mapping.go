package topology

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/stenohq/steno/pkg/events"
)

// Mapping is the account's subject mapping, which puts the slot into a
// published subject: the session's token, hashed, modulo the slots.
func Mapping(slots int) (src, dst string) {
	return "steno.events.*.*", fmt.Sprintf("steno.ev.{{partition(%d,1)}}.{{wildcard(1)}}.{{wildcard(2)}}", slots)
}

// MappingError says that published events do not reach the streams.
type MappingError struct {
	Slots int
	Got   string // the subject that came out, "" for none
}

func (e *MappingError) Error() string {
	src, dst := Mapping(e.Slots)
	is := "is missing"
	if e.Got != "" {
		is = "is another one (" + e.Got + " came out)"
	}
	return fmt.Sprintf("the subject mapping of the server's account %s: put  mappings = { %q: %q }  into the configuration of the server, or of the account Steno uses", is, src, dst)
}

// mappingWait is how long a probe may take.
const mappingWait = 5 * time.Second

// CheckMapping sends a probe where runtimes publish and looks where it comes
// out. The probe names a stream that does not exist, so that none keeps it.
// A *MappingError when the mapping is not there.
func CheckMapping(ctx context.Context, nc *nats.Conn, slots int) error {
	session := events.SessionID("probe-" + nats.NewInbox()[len(nats.InboxPrefix):])
	inbox := make(chan *nats.Msg, 2)
	stored := events.StoredSubject(session.Slot(slots), session, events.MainAgent)
	sub, err := nc.ChanSubscribe("steno.ev.*."+string(session)+".*", inbox)
	if err != nil {
		return fmt.Errorf("subscribe for the probe of the subject mapping: %w", err)
	}
	defer func() { _ = sub.Unsubscribe() }() // it ends with the connection otherwise
	ctx, cancel := context.WithTimeout(ctx, mappingWait)
	defer cancel()
	publish := events.PublishSubject(session, events.MainAgent)
	if err := nc.PublishMsg(&nats.Msg{Subject: publish, Header: nats.Header{"Nats-Expected-Stream": {"none"}}}); err != nil {
		return fmt.Errorf("probe the subject mapping: %w", err)
	}
	// The server handles a connection's requests in order, so the probe is here
	// before the answer to this.
	if err := nc.FlushWithContext(ctx); err != nil {
		return fmt.Errorf("probe the subject mapping: %w", err)
	}
	select {
	case m := <-inbox:
		if m.Subject != stored {
			return &MappingError{Slots: slots, Got: m.Subject}
		}
		return nil
	default:
		return &MappingError{Slots: slots}
	}
}
