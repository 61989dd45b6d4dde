package wirelog

import (
	"errors"
	"io"
)

// seekBelow is the distance within which reading on is as fast as seeking.
const seekBelow = 1 << 20

// seekSeq returns an offset at which a line begins, so that no line before it
// has a seq above after: by bisection, since numbers only rise. 0 is always
// right; damage makes it look no further.
func seekSeq(f ReadFile, after uint64) (int64, error) {
	size, err := f.Size()
	if err != nil || after == 0 {
		return 0, err
	}
	low, high := int64(0), size // a line at low begins at or before after
	for high-low > seekBelow {
		mid := low + (high-low)/2
		off, seq, err := lineAt(f, mid, high)
		if err != nil {
			return 0, err
		}
		switch {
		case seq == 0 || seq > after:
			high = mid
		default:
			low = off
		}
	}
	return low, nil
}

// lineAt finds the first counted line that begins behind off, and its number;
// 0 when there is none before end.
func lineAt(f ReadFile, off, end int64) (int64, uint64, error) {
	sc := newLineScanner(io.NewSectionReader(f, off, end-off), off)
	sc.buf = sc.buf[:64<<10]
	if _, err := sc.next(); err != nil { // the rest of the line that off is in
		if errors.Is(err, io.EOF) {
			err = nil
		}
		return 0, 0, err
	}
	for range 2 { // a chain line has no number
		l, err := sc.next()
		if errors.Is(err, io.EOF) || err == nil && !l.whole {
			return 0, 0, nil
		}
		if err != nil {
			return 0, 0, err
		}
		if p := parse(l.text); p.class >= event && p.class <= lost {
			return l.off, p.Seq, nil
		}
	}
	return 0, 0, nil
}
