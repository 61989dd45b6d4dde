package query_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
	"go.uber.org/goleak"

	"github.com/stenohq/steno/internal/natsnode/query"
	"github.com/stenohq/steno/internal/natstest"
	"github.com/stenohq/steno/pkg/events"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type answers func(ctx context.Context, s events.SessionID, a events.AgentID, run string) ([]byte, error)

func (f answers) Runs(ctx context.Context, s events.SessionID, a events.AgentID, run string) ([]byte, error) {
	return f(ctx, s, a, run)
}

func (f answers) Resume(ctx context.Context, s events.SessionID, a events.AgentID, run string, whole bool) ([]byte, error) {
	return f(ctx, s, a, fmt.Sprintf("%s resume %v", run, whole))
}

func (f answers) Memory(ctx context.Context, s events.SessionID, a events.AgentID) ([]byte, error) {
	return f(ctx, s, a, "memory")
}

func serve(t *testing.T, n *natstest.Node, q query.Queries) *query.Service {
	t.Helper()
	s, err := query.Serve(t.Context(), n.Conn(), q, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestRuns(t *testing.T) {
	n := natstest.StartNode(t, natstest.NoListen())
	s := serve(t, n, answers(func(_ context.Context, s events.SessionID, a events.AgentID, run string) ([]byte, error) {
		if a == "huge" {
			return make([]byte, 33<<20), nil
		}
		if run == "bad" {
			return nil, errors.New("cannot read the log")
		}
		return []byte(string(s) + " " + string(a) + " " + run), nil
	}))
	for name, row := range map[string]struct{ subject, body, answer, code string }{
		"answered":        {events.QuerySubject("a.b", "main", "runs"), `{"run_id":"r"}`, "a.b main r", ""},
		"without a run":   {events.QuerySubject("s", "x", "runs"), ``, "s x ", ""},
		"failing":         {events.QuerySubject("s", "x", "runs"), `{"run_id":"bad"}`, "", "500"},
		"no JSON":         {events.QuerySubject("s", "x", "runs"), `{`, "", "500"},
		"resume":          {events.QuerySubject("s", "x", "resume"), ``, "s x  resume false", ""},
		"resume of a run": {events.QuerySubject("s", "x", "resume"), `{"run_id":"r","history":"all"}`, "s x r resume true", ""},
		"some history":    {events.QuerySubject("s", "x", "resume"), `{"history":"some"}`, "", "500"},
		"long run":        {events.QuerySubject("s", "x", "resume"), `{"run_id":"` + strings.Repeat("r", 129) + `"}`, "", "500"},
		"memory":          {events.QuerySubject("s", "x", "memory"), ``, "s x memory", ""},
		"huge":            {events.QuerySubject("s", "huge", "memory"), ``, "", "413"},
		"impossible name": {"steno.query.s$.x.runs", ``, "", "400"},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := n.Conn().Request(row.subject, []byte(row.body), 5*time.Second)
			if err != nil {
				t.Fatal(err)
			}
			if code := m.Header.Get(micro.ErrorCodeHeader); code != row.code || string(m.Data) != row.answer {
				t.Errorf("answer %q code %q (%s)", m.Data, code, m.Header.Get(micro.ErrorHeader))
			}
		})
	}
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := n.Conn().Request(events.QuerySubject("s", "x", "runs"), nil, 5*time.Second); !errors.Is(err, nats.ErrNoResponders) {
		t.Errorf("after Stop: %v", err)
	}
}

func TestLongAnswersComeInParts(t *testing.T) {
	n := natstest.StartNode(t, natstest.NoListen())
	long := bytes.Repeat([]byte("0123456789"), 120_000)
	s := serve(t, n, answers(func(context.Context, events.SessionID, events.AgentID, string) ([]byte, error) { return long, nil }))
	defer func() { _ = s.Stop() }()
	inbox := n.Conn().NewInbox()
	sub, err := n.Conn().SubscribeSync(inbox)
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Conn().PublishRequest(events.QuerySubject("s", "x", "runs"), inbox, nil); err != nil {
		t.Fatal(err)
	}
	var got []byte
	for more := true; more; {
		m, err := sub.NextMsg(5 * time.Second)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, m.Data...)
		more = m.Header.Get(query.HeaderMore) != ""
	}
	if !bytes.Equal(got, long) {
		t.Errorf("%d bytes, want %d", len(got), len(long))
	}
}

// Stop waits for an answer in the making, and others are answered meanwhile.
func TestStopWaits(t *testing.T) {
	n := natstest.StartNode(t, natstest.NoListen())
	entered, leave := make(chan struct{}), make(chan struct{})
	s := serve(t, n, answers(func(_ context.Context, _ events.SessionID, a events.AgentID, _ string) ([]byte, error) {
		if a == "slow" {
			close(entered)
			<-leave
		}
		return []byte(a), nil
	}))
	slow := make(chan error, 1)
	go func() {
		_, err := n.Conn().Request(events.QuerySubject("s", "slow", "runs"), nil, 10*time.Second)
		slow <- err
	}()
	<-entered
	if m, err := n.Conn().Request(events.QuerySubject("s", "fast", "runs"), nil, 5*time.Second); err != nil || string(m.Data) != "fast" {
		t.Errorf("beside a slow answer: %v %v", m, err)
	}
	stopped := make(chan error, 1)
	go func() { stopped <- s.Stop() }()
	select {
	case <-stopped:
		t.Error("Stop did not wait")
	default:
	}
	close(leave)
	if err := errors.Join(<-slow, <-stopped); err != nil {
		t.Error(err)
	}
}
