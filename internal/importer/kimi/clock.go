package kimi

import (
	"math"
	"strconv"

	"github.com/stenohq/steno/pkg/events/scan"
)

// clock follows the numbers that the engine gives its turns: each prompt takes
// the next one, and a prompt that was cancelled while it waited keeps the one
// it had been promised.
type clock struct {
	next      int
	cancelled map[int]bool
}

// prompt takes the number of a new turn; given is the one the record names, -1
// when it names none.
func (c *clock) prompt(given int) int {
	id := c.next
	if given >= 0 {
		id = given
	}
	c.seen(id)
	return id
}

// seen tells that a turn has this number.
func (c *clock) seen(id int) {
	if id >= c.next && id < math.MaxInt32 {
		c.next = id + 1
		c.skip()
	}
}

// reserve keeps the number of a queued prompt that was cancelled.
func (c *clock) reserve(id int) {
	if id < c.next || len(c.cancelled) > 10_000 {
		return
	}
	if c.cancelled == nil {
		c.cancelled = make(map[int]bool)
	}
	c.cancelled[id] = true
	c.skip()
}

func (c *clock) skip() {
	for c.cancelled[c.next] {
		delete(c.cancelled, c.next)
		c.next++
	}
}

// turnID reads an engine's number, which is a string in loop events; -1 when
// it is none.
func turnID(raw []byte) int {
	if n, ok := scan.Int64(raw); ok && n >= 0 && n < math.MaxInt32 {
		return int(n)
	}
	text, ok := scan.Unquote(raw)
	if !ok {
		return -1
	}
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return -1
	}
	return int(n)
}
