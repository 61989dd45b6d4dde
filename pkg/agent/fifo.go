package agent

// chunkItems keeps a chunk of entries at about 50 KiB.
const chunkItems = 512

// fifo is a queue whose elements never move, in chunks: a long outage does not
// make one call copy all that waits.
type fifo[T any] struct {
	chunks [][]T
	head   int // of the first chunk
	count  int
}

func (f *fifo[T]) len() int { return f.count }

// at returns the element i from the front, i < len.
func (f *fifo[T]) at(i int) *T {
	i += f.head
	return &f.chunks[i/chunkItems][i%chunkItems]
}

func (f *fifo[T]) push(v T) {
	if n := len(f.chunks); n == 0 || len(f.chunks[n-1]) == chunkItems {
		f.chunks = append(f.chunks, make([]T, 0, chunkItems))
	}
	last := &f.chunks[len(f.chunks)-1]
	*last = append(*last, v)
	f.count++
}

// pop removes and returns the front element.
func (f *fifo[T]) pop() (v T) {
	first := f.chunks[0]
	v, first[f.head] = first[f.head], v
	f.head++
	f.count--
	switch {
	case f.count == 0: // keep the last chunk for reuse
		f.chunks, f.head = append(f.chunks[:0], first[:0]), 0
	case f.head == chunkItems:
		f.chunks[0] = nil
		f.chunks, f.head = f.chunks[1:], 0
	}
	return v
}
