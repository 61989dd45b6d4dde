package recorder_test

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/stenohq/steno/internal/eventlog/jslog"
	"github.com/stenohq/steno/internal/natsnode/topology"
	"github.com/stenohq/steno/internal/natstest"
	"github.com/stenohq/steno/internal/recorder"
	"github.com/stenohq/steno/internal/statestore/kvstate"
)

// The environment of a test binary that is to be a recorder.
const (
	envURL = "STENO_RECORDER_TEST_URL"
	envDir = "STENO_RECORDER_TEST_DIR"
)

// TestMain runs the property tests briefly; -rapid.checks=3000 is the deep run.
func TestMain(m *testing.M) {
	if os.Getenv(envURL) != "" {
		if err := serve(os.Stdin, os.Stderr); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	flag.Parse()
	if f := flag.Lookup("rapid.checks"); f.Value.String() == f.DefValue {
		if err := f.Value.Set("100"); err != nil {
			panic(err)
		}
	}
	natstest.Main(m)
}

// serve is a recorder process: it runs until its input ends, which it does
// with the test process, or until it is killed.
func serve(in io.Reader, errs io.Writer) error {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, in) // any end of the input is the end
		cancel()
	}()
	nc, err := nats.Connect(os.Getenv(envURL), nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond))
	if err != nil {
		return err
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return err
	}
	top, err := topology.Ensure(ctx, js, topology.Embedded())
	if err != nil {
		return err
	}
	svc, err := newService(nc, js, top, os.Getenv(envDir), slog.New(slog.NewTextHandler(errs, &slog.HandlerOptions{Level: slog.LevelError})))
	if err != nil {
		return err
	}
	return svc.Run(ctx)
}

func newService(nc *nats.Conn, js jetstream.JetStream, top topology.Topology, dir string, log *slog.Logger) (*recorder.Service, error) {
	events, err := jslog.New(js, jslog.Config{Slots: top.Slots, Streams: top.Streams})
	if err != nil {
		return nil, err
	}
	state, err := kvstate.New(nc)
	if err != nil {
		return nil, err
	}
	return recorder.New(recorder.Deps{
		Log: events, Store: state, Members: kvstate.NewMembers(nc), Logger: log,
	}, recorder.Config{Dir: dir, TopologyID: top.ID}), nil
}
