package gateway

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
)

// errStalled: the peer has taken nothing for Limits.SlowClient.
var errStalled = errors.New("client takes nothing")

// sock is the hijacked connection below the WebSocket library. The library
// does the handshake, reads, and answers control frames, each of which reaches
// sock in one Write; data messages are framed once for all connections and
// written here, many in one system call. Both take mu, so frames never mix.
type sock struct {
	net.Conn
	stall     time.Duration
	sendBytes int

	mu    sync.Mutex
	buf   []byte // gathers small frames; only under mu
	rest  []byte // of the frames a stall cut; only under mu
	ended bool   // nothing is sent any more, but for goodbye; only under mu
	shut  bool   // no more output, and input only for a while; only under mu

	heard   atomic.Uint64 // reads that brought something
	reading atomic.Bool   // a read waits for the peer
}

const (
	gatherBytes = 64 << 10
	pieceBytes  = 16 << 10
)

func (c *sock) Read(p []byte) (int, error) {
	c.reading.Store(true)
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.heard.Add(1)
	}
	c.reading.Store(false)
	return n, err
}

// Write sends one whole control frame. After the end it sends nothing and
// fails not, so that the library reads on.
func (c *sock) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return len(p), nil
	}
	if err := c.push(p); err != nil && !errors.Is(err, errStalled) { // the next of writeFrames tells
		return 0, err
	}
	return len(p), nil
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
// served as long as it takes something. After a stall nothing more is sent,
// but for goodbye.
func (c *sock) push(p []byte) error {
	switch {
	case c.rest != nil:
		return errStalled
	case c.ended:
		return net.ErrClosed
	}
	for len(p) > 0 {
		piece := p[:min(len(p), pieceBytes)]
		n, err := c.send(piece, c.stall)
		p = p[n:]
		if err == nil || n > 0 && errors.Is(err, os.ErrDeadlineExceeded) {
			continue
		}
		c.ended = true
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return err
		}
		c.rest = slices.Clone(p)
		return errStalled
	}
	return nil
}

// goodbye ends the connection's output with a close frame, behind what a stall
// has cut, for a peer that takes it in time. Reads end as long afterwards.
func (c *sock) goodbye(code websocket.StatusCode, reason string, within time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, err := c.send(append(c.rest, closeFrame(code, reason)...), within)
	c.ended, c.rest = true, nil
	if err != nil {
		within = 0 // the peer cannot be told any more
	}
	c.shutdown(within)
}

// linger reads what the peer still sends until it has closed or time is over.
// A connection closed with something unread is reset, and the peer loses what
// is on its way to it: the close frame.
func (c *sock) linger(within time.Duration) {
	c.mu.Lock()
	c.ended = true
	c.shutdown(within)
	c.mu.Unlock()
	_, _ = io.Copy(io.Discard, c.Conn)
}

// shutdown ends the output behind what has been sent, and the input after a
// while. The caller holds mu.
func (c *sock) shutdown(within time.Duration) {
	if c.shut {
		return
	}
	c.shut = true
	_ = c.SetReadDeadline(time.Now().Add(within))
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
}

// silence counts pings that a peer has not answered by anything, rather than
// time: nobody is silent who was not asked, and a pause of this process is one
// beat, however long.
type silence struct {
	heard uint64
	asked bool
	beats int
}

// beat is called just before each ping and tells whether two have passed
// without a sign. A peer is not silent while its last message is being handled
// and nothing is read.
func (s *silence) beat(c *sock) bool {
	heard := c.heard.Load()
	switch {
	case heard != s.heard || !c.reading.Load():
		s.heard, s.beats = heard, 0
	case s.asked:
		s.beats++
	}
	s.asked = true
	return s.beats >= 2
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
	limitSendBuffer(conn, h.sock.sendBytes)
	return h.sock, bufio.NewReadWriter(rw.Reader, bufio.NewWriterSize(h.sock, 256)), nil
}

// limitSendBuffer keeps the kernel from growing the buffer to megabytes: what
// is in it can neither be merged nor replaced by a reset, and a slow client
// cannot answer the ping behind it.
func limitSendBuffer(conn net.Conn, bytes int) {
	if secure, ok := conn.(interface{ NetConn() net.Conn }); ok {
		conn = secure.NetConn()
	}
	if buffered, ok := conn.(interface{ SetWriteBuffer(bytes int) error }); ok {
		_ = buffered.SetWriteBuffer(bytes)
	}
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

func closeFrame(code websocket.StatusCode, reason string) []byte {
	f := append([]byte{0x88}, byte(2+len(reason)))
	return append(binary.BigEndian.AppendUint16(f, uint16(code)), reason...)
}
