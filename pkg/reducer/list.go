package reducer

// keyed is what a list holds: values with an id that is unique in the list.
type keyed interface{ key() string }

// list is a persistent sequence of values with unique ids: a copy of the
// struct is a snapshot of it, provided that the edit is replaced when the copy
// is taken. Lookup by id and a change of the entry changed last cost O(1),
// everything else O(log n), whatever the length.
//
// The entry changed last is held beside the tree (hot), so that a streamed
// text costs no walk down the tree and, after a snapshot, no copy of its path.
type list[T keyed] struct {
	root   *tree[T]
	n      int
	hotKey uint64 // 0 = none
	hot    T
	idx    *index
}

// index finds labels by id. It belongs to the owner it names and describes
// that owner's newest version only, so versions may share it; whoever else
// continues from a shared list makes its own.
type index struct {
	owner *owner
	byID  map[string]uint64
}

// owner is the identity of a Transcript between two resets.
type owner struct{ _ byte }

const (
	firstLabel = 1 << 62
	labelGap   = 1 << 31
	indexFrom  = 12 // up to here comparing ids is cheaper than a map
)

func (l *list[T]) get(key uint64) (T, bool) {
	if key == l.hotKey && key != 0 {
		return l.hot, true
	}
	return l.root.get(key)
}

// find returns the label and the value of an id; label 0 means absent.
func (l *list[T]) find(o *owner, id string) (key uint64, v T) {
	if l.hotKey != 0 && l.hot.key() == id {
		return l.hotKey, l.hot
	}
	if l.root == nil {
		return 0, v
	}
	if l.idx == nil || l.idx.owner != o {
		if l.root.leaf() && l.n <= indexFrom {
			return l.scan(id)
		}
		l.reindex(o)
	}
	key = l.idx.byID[id]
	if key != 0 {
		v, _ = l.get(key)
	}
	return key, v
}

func (l *list[T]) scan(id string) (key uint64, v T) {
	for i, k := range l.root.keys {
		if k != l.hotKey && l.root.vals[i].key() == id {
			return k, l.root.vals[i]
		}
	}
	return 0, v
}

func (l *list[T]) reindex(o *owner) {
	l.idx = &index{owner: o, byID: make(map[string]uint64, l.n)}
	for c := l.from(0); c.ok; c.next() {
		l.idx.byID[c.val.key()] = c.key
	}
}

// set replaces the value at a label that exists; the id must stay the same.
func (l *list[T]) set(ed *edit, key uint64, v T) {
	if key != l.hotKey {
		l.cool(ed)
		l.hotKey = key
	}
	l.hot = v
}

// cool writes the hot entry back into the tree.
func (l *list[T]) cool(ed *edit) {
	if l.hotKey != 0 {
		l.root, _ = l.root.put(ed, l.hotKey, l.hot)
		var none T
		l.hotKey, l.hot = 0, none
	}
}

// insert adds a value with a new id at a free label.
func (l *list[T]) insert(o *owner, ed *edit, key uint64, v T) {
	l.cool(ed)
	if l.idx != nil && l.idx.owner == o {
		l.idx.byID[v.key()] = key
	}
	l.n++
	if l.root == nil {
		l.root = &tree[T]{ed: ed, keys: []uint64{key}, vals: []T{v}}
	} else if left, right := l.root.put(ed, key, v); right == nil {
		l.root = left
	} else {
		l.root = &tree[T]{ed: ed, keys: []uint64{left.keys[0], right.keys[0]}, kids: []*tree[T]{left, right}}
	}
	l.hotKey, l.hot = key, v
}

// push adds a value with a new id at the end.
func (l *list[T]) push(o *owner, ed *edit, v T) { l.insert(o, ed, l.lastLabel()+labelGap, v) }

// remove takes the entry at key, which has the id, out.
func (l *list[T]) remove(o *owner, ed *edit, key uint64, id string) {
	if key == l.hotKey {
		var none T
		l.hotKey, l.hot = 0, none
	}
	if l.idx != nil && l.idx.owner == o {
		delete(l.idx.byID, id)
	}
	l.n--
	l.root = l.root.drop(ed, key)
	for l.root != nil && len(l.root.kids) == 1 {
		l.root = l.root.kids[0]
	}
}

// lastLabel returns the largest label, or a starting one.
func (l *list[T]) lastLabel() uint64 {
	n := l.root
	for n != nil && !n.leaf() {
		n = n.kids[len(n.kids)-1]
	}
	if n == nil {
		return firstLabel
	}
	return n.keys[len(n.keys)-1]
}

// walk is a position in a list.
type walk[T keyed] struct {
	l   *list[T]
	c   cursor[T]
	key uint64
	val T
	ok  bool
}

// from starts at the first label ≥ key.
func (l *list[T]) from(key uint64) walk[T] {
	w := walk[T]{l: l}
	w.c.seek(l.root, key)
	w.load()
	return w
}

// fromLast starts at the last entry.
func (l *list[T]) fromLast() walk[T] {
	w := walk[T]{l: l}
	w.c.seekLast(l.root)
	w.load()
	return w
}

func (w *walk[T]) load() {
	w.key, w.val, w.ok = w.c.entry()
	if w.ok && w.key == w.l.hotKey {
		w.val = w.l.hot
	}
}

func (w *walk[T]) next() { w.c.next(); w.load() }
func (w *walk[T]) prev() { w.c.prev(); w.load() }

// last returns the last value.
func (l *list[T]) last() (key uint64, v T, ok bool) {
	w := l.fromLast()
	return w.key, w.val, w.ok
}

// labelUnder returns the largest label below key, 0 when there is none.
func (l *list[T]) labelUnder(key uint64) uint64 {
	w := l.from(key)
	if !w.ok {
		w = l.fromLast()
	} else {
		w.prev()
	}
	if !w.ok {
		return 0
	}
	return w.key
}

// labelBefore returns a free label directly before the entry at next.
func (l *list[T]) labelBefore(o *owner, ed *edit, next uint64) uint64 {
	prev := l.labelUnder(next)
	if prev == 0 {
		prev = next - min(2*labelGap, next)
	}
	if next-prev >= 2 {
		return prev + (next-prev)/2
	}
	// The labels here are used up: spread all of them anew.
	var fresh list[T]
	label, moved := uint64(firstLabel), uint64(0)
	for w := l.from(0); w.ok; w.next() {
		label += labelGap
		if w.key == next {
			moved = label
		}
		fresh.insert(o, ed, label, w.val)
	}
	*l = fresh
	return l.labelBefore(o, ed, moved)
}

// lastBelow returns the label of an entry near the last one, in a sequence
// sorted by below, for which below holds; no entry before it is of interest to
// a search for the first one for which it does not hold. 0 when there is none.
func (l *list[T]) lastBelow(below func(T) bool) uint64 {
	n := l.root
	if n == nil {
		return 0
	}
	for !n.leaf() {
		i := 0
		for i+1 < len(n.kids) && below(n.kids[i+1].first()) {
			i++
		}
		n = n.kids[i]
	}
	return n.keys[0]
}

// first returns the first value of a subtree.
func (n *tree[T]) first() T {
	for !n.leaf() {
		n = n.kids[0]
	}
	return n.vals[0]
}
