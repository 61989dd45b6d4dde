package reducer

// outputUnit is what the start of an output tail is a multiple of, in UTF-16
// units, and the least that a tail keeps.
const outputUnit = 1 << 16

// tailStart is where the tail of an output of so many UTF-16 units begins.
func tailStart(total int) int {
	return max(0, (total/outputUnit-1)*outputUnit)
}

// setOutput replaces a task's output by the end of it that is known.
func (e *foldEntity) setOutput(s string) {
	e.text.reset(s)
	e.total = e.text.units
	e.trim()
}

// trim moves the tail's start to where it belongs and reports whether it
// moved.
func (e *foldEntity) trim() bool {
	drop := tailStart(e.total) - (e.total - e.text.units)
	if drop <= 0 {
		return false
	}
	high := e.text.high
	e.text.reset(afterUnits(e.text.String(), drop))
	e.text.high = high
	return true
}

// afterUnits returns s without its first n UTF-16 units, and without the
// second half of a pair that this would split.
func afterUnits(s string, n int) string {
	for i, r := range s {
		if n <= 0 {
			return s[i:]
		}
		n--
		if r > 0xFFFF {
			n--
		}
	}
	return ""
}

// growTask appends to a task's output.
func (f *Fold) growTask(e *foldEntity, chunk string) {
	chunk = e.text.take(chunk)
	if chunk == "" {
		return
	}
	offset := e.text.units
	chunk = e.text.add(chunk)
	e.total += UTF16Len(chunk)
	e.growing = true
	if e.trim() || e.task.State != taskRunning {
		// Nothing will re-send an ended task: readers without appends get it
		// whole.
		f.putTask(e, e.nowTask(), nil)
		return
	}
	f.resize(&e.size, e.size+escapedLen(chunk))
	op := f.push(OpAppend)
	op.Target, op.Offset, op.Text = Target{TaskID: e.id}, offset, chunk
}
