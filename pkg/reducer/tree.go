package reducer

import "slices"

// edit marks who may change a node in place: a node whose edit is the
// Transcript's present one was made since the last snapshot, so nobody else
// sees it. Taking a snapshot replaces the Transcript's edit, which freezes
// every node made before.
type edit struct{ _ byte }

// fan is the largest number of entries of a tree node.
const fan = 32

// tree is a node of a persistent B+ tree from labels to values. Labels are
// positions: they grow along the sequence and mean nothing else. A leaf has
// vals, an inner node kids, whose smallest label stands in keys.
type tree[T any] struct {
	ed   *edit
	keys []uint64
	vals []T
	kids []*tree[T]
}

func (n *tree[T]) leaf() bool { return n.kids == nil }

// owned returns a node that ed may change: n itself or a copy.
func (n *tree[T]) owned(ed *edit) *tree[T] {
	if n.ed == ed {
		return n
	}
	return &tree[T]{ed: ed, keys: slices.Clone(n.keys), vals: slices.Clone(n.vals), kids: slices.Clone(n.kids)}
}

// child returns the index of the kid that holds key, or would.
func (n *tree[T]) child(key uint64) int {
	i, found := slices.BinarySearch(n.keys, key)
	if !found && i > 0 {
		i--
	}
	return i
}

// get returns the value at key.
func (n *tree[T]) get(key uint64) (v T, ok bool) {
	for n != nil && !n.leaf() {
		n = n.kids[n.child(key)]
	}
	if n == nil {
		return v, false
	}
	i, found := slices.BinarySearch(n.keys, key)
	if !found {
		return v, false
	}
	return n.vals[i], true
}

// put inserts or replaces. It returns the changed node and, when that was
// full, the new one to its right.
func (n *tree[T]) put(ed *edit, key uint64, v T) (self, right *tree[T]) {
	n = n.owned(ed)
	if n.leaf() {
		i, found := slices.BinarySearch(n.keys, key)
		if found {
			n.vals[i] = v
			return n, nil
		}
		n.keys = slices.Insert(n.keys, i, key)
		n.vals = slices.Insert(n.vals, i, v)
	} else {
		i := n.child(key)
		kid, split := n.kids[i].put(ed, key, v)
		n.kids[i], n.keys[i] = kid, kid.keys[0]
		if split != nil {
			n.kids = slices.Insert(n.kids, i+1, split)
			n.keys = slices.Insert(n.keys, i+1, split.keys[0])
		}
	}
	if len(n.keys) <= fan {
		return n, nil
	}
	return n.split(ed, key)
}

// split halves a node that has one entry too many. A sequence mostly grows at
// its end: there the left part stays full.
func (n *tree[T]) split(ed *edit, key uint64) (left, right *tree[T]) {
	at := len(n.keys) / 2
	if key >= n.keys[len(n.keys)-1] {
		at = len(n.keys) - 1
	}
	right = &tree[T]{ed: ed, keys: slices.Clone(n.keys[at:])}
	if n.leaf() {
		right.vals = slices.Clone(n.vals[at:])
		clear(n.vals[at:])
		n.vals = n.vals[:at]
	} else {
		right.kids = slices.Clone(n.kids[at:])
		clear(n.kids[at:])
		n.kids = n.kids[:at]
	}
	n.keys = n.keys[:at]
	return n, right
}

// drop removes key; nil when nothing is left. Nodes are not merged: what
// shrinks is emptied in runs, and an empty node goes.
func (n *tree[T]) drop(ed *edit, key uint64) *tree[T] {
	n = n.owned(ed)
	if n.leaf() {
		if i, found := slices.BinarySearch(n.keys, key); found {
			n.keys = slices.Delete(n.keys, i, i+1)
			n.vals = slices.Delete(n.vals, i, i+1)
		}
	} else {
		i := n.child(key)
		if kid := n.kids[i].drop(ed, key); kid == nil {
			n.keys = slices.Delete(n.keys, i, i+1)
			n.kids = slices.Delete(n.kids, i, i+1)
		} else {
			n.kids[i], n.keys[i] = kid, kid.keys[0]
		}
	}
	if len(n.keys) == 0 {
		return nil
	}
	return n
}

// cursor walks a tree in either direction. The zero cursor is at an end.
type cursor[T any] struct {
	path  [16]place[T]
	depth int
}

type place[T any] struct {
	n *tree[T]
	i int
}

// seek puts the cursor on the first label ≥ key.
func (c *cursor[T]) seek(n *tree[T], key uint64) {
	c.depth = 0
	for n != nil {
		var i int
		if n.leaf() {
			i, _ = slices.BinarySearch(n.keys, key)
		} else {
			i = n.child(key)
		}
		c.push(n, i)
		if n.leaf() {
			break
		}
		n = n.kids[i]
	}
	c.settle()
}

// seekLast puts the cursor on the last label.
func (c *cursor[T]) seekLast(n *tree[T]) {
	c.depth = 0
	for n != nil {
		c.push(n, len(n.keys)-1)
		if n.leaf() {
			return
		}
		n = n.kids[len(n.kids)-1]
	}
}

func (c *cursor[T]) push(n *tree[T], i int) {
	c.path[c.depth] = place[T]{n, i}
	c.depth++
}

// settle moves a cursor that stands behind a leaf's end to the next leaf.
func (c *cursor[T]) settle() {
	for c.depth > 0 {
		p := &c.path[c.depth-1]
		if p.i < len(p.n.keys) {
			for n := p.n; !n.leaf(); {
				n = n.kids[c.path[c.depth-1].i]
				c.push(n, 0)
			}
			return
		}
		c.depth--
		if c.depth > 0 {
			c.path[c.depth-1].i++
		}
	}
}

// entry returns what the cursor stands on; ok is false at an end.
func (c *cursor[T]) entry() (key uint64, v T, ok bool) {
	if c.depth == 0 {
		return 0, v, false
	}
	p := &c.path[c.depth-1]
	return p.n.keys[p.i], p.n.vals[p.i], true
}

func (c *cursor[T]) next() {
	if c.depth > 0 {
		c.path[c.depth-1].i++
		c.settle()
	}
}

func (c *cursor[T]) prev() {
	for c.depth > 0 {
		p := &c.path[c.depth-1]
		if p.i > 0 {
			p.i--
			for n := p.n; !n.leaf(); {
				n = n.kids[c.path[c.depth-1].i]
				c.push(n, len(n.keys)-1)
			}
			return
		}
		c.depth--
	}
}
