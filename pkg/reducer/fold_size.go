package reducer

// The content that is kept is measured as the JSON that readers receive.

// resize replaces the size of one part of the content.
func (f *Fold) resize(size *int, n int) {
	f.bytes += n - *size
	*size = n
	if f.bytes > maxKept && !f.spent {
		f.due = true
	}
}

type jsonAppender interface{ AppendJSON(dst []byte) []byte }

func (f *Fold) jsonSize(v jsonAppender) int {
	f.buf = v.AppendJSON(f.buf[:0])
	return len(f.buf)
}

// Kept returns the size of what is kept, as JSON.
func (f *Fold) Kept() int { return f.bytes }
