package importer

import (
	"bufio"
	"errors"
	"io"
	"os"

	"github.com/stenohq/steno/pkg/events/scan"
)

// EachRecord reads a file's lines that are JSON objects until yield says stop.
func EachRecord(path string, yield func(raw []byte) bool) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewReaderSize(f, 1<<16)
	for {
		b, err := lines.ReadBytes('\n')
		if len(b) > MaxLine {
			return nil
		}
		if raw := scan.Trim(b); scan.KindOf(raw) == scan.Object && scan.Valid(raw) && !yield(raw) {
			return nil
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
