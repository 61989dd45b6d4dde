package wirelog

import (
	"bytes"
	"errors"
	"io"
)

// physical is one line of a file. text is valid until the next call.
type physical struct {
	text   []byte // without newline; nil when tooLong
	off    int64
	size   int64 // in the file, newline included
	whole  bool  // it ends in a newline
	tooBig bool  // longer than MaxLine
}

// lineScanner cuts a stream into lines with bounded memory.
type lineScanner struct {
	r          io.Reader
	buf        []byte
	start, end int
	off        int64 // of buf[start]
	eof        bool
}

const scanBuffer = 256 << 10

func newLineScanner(r io.Reader, off int64) *lineScanner {
	return &lineScanner{r: r, off: off, buf: make([]byte, scanBuffer)}
}

// next returns io.EOF behind the last line.
func (s *lineScanner) next() (physical, error) {
	searched := 0
	for {
		if i := bytes.IndexByte(s.buf[s.start+searched:s.end], '\n'); i >= 0 {
			return s.take(searched+i, true), nil
		}
		searched = s.end - s.start
		switch {
		case s.eof && searched == 0:
			return physical{}, io.EOF
		case s.eof:
			return s.take(searched, false), nil
		case searched > MaxLine:
			return s.skipLong()
		}
		if err := s.fill(); err != nil {
			return physical{}, err
		}
	}
}

func (s *lineScanner) take(n int, whole bool) physical {
	l := physical{text: s.buf[s.start : s.start+n], off: s.off, size: int64(n), whole: whole}
	if whole {
		l.size++
	}
	if n > MaxLine {
		l.text, l.tooBig = nil, true
	}
	s.start += int(l.size)
	s.off += l.size
	return l
}

// skipLong goes to the end of a line that is longer than MaxLine.
func (s *lineScanner) skipLong() (physical, error) {
	l := physical{off: s.off, tooBig: true}
	for {
		if i := bytes.IndexByte(s.buf[s.start:s.end], '\n'); i >= 0 {
			rest := s.take(i, true)
			l.size, l.whole = l.size+rest.size, true
			return l, nil
		}
		n := s.end - s.start
		s.start, s.off, l.size = s.end, s.off+int64(n), l.size+int64(n)
		if s.eof {
			return l, nil
		}
		if err := s.fill(); err != nil {
			return physical{}, err
		}
	}
}

// fill reads more behind what is buffered.
func (s *lineScanner) fill() error {
	if s.start > 0 {
		s.end = copy(s.buf, s.buf[s.start:s.end])
		s.start = 0
	}
	if s.end == len(s.buf) {
		s.buf = append(s.buf, make([]byte, len(s.buf))...)
	}
	n, err := s.r.Read(s.buf[s.end:])
	s.end += n
	if errors.Is(err, io.EOF) {
		s.eof = true
		return nil
	}
	return err
}
