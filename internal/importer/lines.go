package importer

import "bytes"

// MaxLine is the longest line that is read. A longer one is skipped.
const MaxLine = 64 << 20

// splitter cuts bytes into complete lines. It keeps at most MaxLine of a line
// whose end has not come yet.
type splitter struct {
	tail    []byte
	line    int  // complete lines so far
	discard bool // the current line is too long
	limit   int
}

// feed takes the next bytes and yields each line that is now complete, without
// its newline. The slice is valid until yield returns. tooLong lines come
// without content.
func (s *splitter) feed(p []byte, yield func(line int, b []byte, tooLong bool)) {
	for {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			s.keep(p)
			return
		}
		s.line++
		switch {
		case s.discard || len(s.tail)+i > s.limit:
			yield(s.line, nil, true)
		case len(s.tail) == 0:
			yield(s.line, p[:i], false)
		default:
			s.tail = append(s.tail, p[:i]...)
			yield(s.line, s.tail, false)
		}
		s.tail, s.discard = s.tail[:0], false
		p = p[i+1:]
	}
}

func (s *splitter) keep(p []byte) {
	if s.discard || len(s.tail)+len(p) > s.limit {
		s.tail, s.discard = nil, true
		return
	}
	s.tail = append(s.tail, p...)
}

// pending is the length of the incomplete last line.
func (s *splitter) pending() int { return len(s.tail) }
