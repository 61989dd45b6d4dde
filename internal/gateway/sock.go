package gateway

import (
	"bufio"
	"encoding/binary"
	"errors"
	"net"
	"net/http"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// errStalled: the peer has taken nothing for Limits.SlowClient.
var errStalled = errors.New("client takes nothing")

// sock is the hijacked connection below the WebSocket library. The library
// does the handshake, reads, and answers control frames, each of which reaches
// sock in one Write; data messages are framed once for all connections and
// written here, many in one system call. Both take mu, so frames never mix.
type sock struct {
	net.Conn
	stall time.Duration

	mu   sync.Mutex
	buf  []byte // gathers small frames; only under mu
	dead bool   // a write ended inside a frame; only under mu

	heard atomic.Int64 // when the peer's last bytes came, Unix nanoseconds
}

const (
	gatherBytes = 64 << 10
	pieceBytes  = 16 << 10
)

func (c *sock) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.heard.Store(time.Now().UnixNano())
	}
	return n, err
}

// Write sends one whole control frame.
func (c *sock) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(p), c.push(p)
}

// writeFrames sends whole frames in order, in as few writes as possible.
func (c *sock) writeFrames(frames [][]byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := 0; i < len(frames); {
		group := frames[i]
		i++
		if len(group) < gatherBytes {
			c.buf = append(c.buf[:0], group...)
			for i < len(frames) && len(c.buf)+len(frames[i]) <= gatherBytes {
				c.buf = append(c.buf, frames[i]...)
				i++
			}
			group = c.buf
		}
		if err := c.push(group); err != nil {
			return err
		}
	}
	if cap(c.buf) > pieceBytes { // what a burst needed is not kept for ever
		c.buf = nil
	}
	return nil
}

// push writes p, giving each piece the full stall time: a slow reader is
// served as long as it takes something. After a stall it offers the rest of
// the frames once more, with a close frame behind, for a peer that has just
// woken up.
func (c *sock) push(p []byte) error {
	if c.dead {
		return net.ErrClosed
	}
	for len(p) > 0 {
		piece := p[:min(len(p), pieceBytes)]
		n, err := c.send(piece, c.stall)
		p = p[n:]
		if err == nil || n > 0 && errors.Is(err, os.ErrDeadlineExceeded) {
			continue
		}
		c.dead = true
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return err
		}
		rest := append(slices.Clip(p), closeFrame(1008, "client reads too slowly; reconnect with cursors")...)
		_, _ = c.send(rest, c.stall/6)
		return errStalled
	}
	return nil
}

func (c *sock) send(p []byte, within time.Duration) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(within)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

// hijacker hands the library a sock in place of the server's connection.
type hijacker struct {
	http.ResponseWriter
	sock *sock
}

// Hijack implements http.Hijacker. The write buffer holds any control frame,
// and nothing larger is ever written through the library.
func (h *hijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(h.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	h.sock.Conn = conn
	h.sock.heard.Store(time.Now().UnixNano())
	return h.sock, bufio.NewReadWriter(rw.Reader, bufio.NewWriterSize(h.sock, 256)), nil
}

// appendFrameHeader begins an unmasked, unfragmented text frame (RFC 6455
// §5.2) of n payload bytes.
func appendFrameHeader(dst []byte, n int) []byte {
	dst = append(dst, 0x81)
	switch {
	case n < 126:
		return append(dst, byte(n))
	case n < 1<<16:
		return binary.BigEndian.AppendUint16(append(dst, 126), uint16(n))
	}
	return binary.BigEndian.AppendUint64(append(dst, 127), uint64(n))
}

func closeFrame(code uint16, reason string) []byte {
	f := append([]byte{0x88}, byte(2+len(reason)))
	return append(binary.BigEndian.AppendUint16(f, code), reason...)
}
