package natsnode

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/stenohq/steno/internal/natsnode/topology"
)

// Durability says what an acknowledged message survives.
type Durability int

const (
	// Power syncs every write before it is acknowledged.
	Power Durability = iota
	// Process syncs every second. An acknowledged message survives the end of
	// the process but not of the machine.
	Process
)

// ListenNone as Config.Listen: only connections inside the process.
const ListenNone = "none"

// DefaultSlots is the number of slots of the embedded form.
const DefaultSlots = 16

// MaxPayload is the largest message a client may send: an event of 1 MiB, a
// state piece or a blob chunk, with headers.
const MaxPayload = 2 << 20

// Config describes a node.
type Config struct {
	StoreDir   string     // required; made when absent
	Listen     string     // host:port, port 0 picks a free one; ListenNone or "" for none
	Durability Durability // Power by default
	Slots      int        // of the subject mapping; 0 means DefaultSlots
	Logger     *slog.Logger
	// ReadyTimeout bounds the start, which replays the stores; 0 means 2 min.
	ReadyTimeout time.Duration
}

func (c Config) logger() *slog.Logger {
	if c.Logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return c.Logger
}

func (c Config) readyTimeout() time.Duration {
	if c.ReadyTimeout <= 0 {
		return 2 * time.Minute
	}
	return c.ReadyTimeout
}

// mapping is the account's subject mapping.
func (c Config) mapping() (src, dst string) {
	slots := c.Slots
	if slots == 0 {
		slots = DefaultSlots
	}
	return topology.Mapping(slots)
}

func (c Config) options() (*server.Options, error) {
	if c.StoreDir == "" {
		return nil, errors.New("the embedded NATS server needs a store directory")
	}
	opts := &server.Options{
		ServerName: "steno",
		StoreDir:   c.StoreDir,
		JetStream:  true,
		// Explicit: the server's own default is a share of the disk's free
		// space at each start, so a filling disk would shrink below what the
		// streams reserve. The streams have byte limits.
		JetStreamMaxStore:  1 << 60,
		JetStreamMaxMemory: 1 << 30,
		MaxPayload:         MaxPayload,
		NoSigs:             true,
		JetStreamLimits: server.JSLimitOpts{
			// Publishers may send atomic batches; the default of 50 open ones
			// a stream is soon reached.
			MaxBatchInflightPerStream: 500,
			MaxBatchInflightTotal:     5000,
		},
	}
	switch c.Durability {
	case Power:
		opts.SyncAlways = true
	case Process:
		opts.SyncInterval = time.Second
	default:
		return nil, fmt.Errorf("unknown durability %d", c.Durability)
	}
	return opts, c.listen(opts)
}

func (c Config) listen(opts *server.Options) error {
	if c.Listen == "" || c.Listen == ListenNone {
		opts.DontListen = true
		return nil
	}
	host, port, err := net.SplitHostPort(c.Listen)
	if err != nil {
		return fmt.Errorf("NATS listen address %q: want host:port or %s", c.Listen, ListenNone)
	}
	p, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return fmt.Errorf("NATS listen address %q: port must be 0 to 65535", c.Listen)
	}
	opts.Host, opts.Port = host, int(p)
	if p == 0 {
		opts.Port = server.RANDOM_PORT
	}
	return nil
}
