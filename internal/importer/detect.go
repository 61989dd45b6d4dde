package importer

import (
	"errors"
	"io"
	"os"
	"strings"
)

// What is read of a file to recognise its format.
const (
	headBytes   = 1 << 20
	headRecords = 20
)

// ErrUnrecognised is wrapped when the first records of a file are of no known
// format.
var ErrUnrecognised = errors.New("not a log of a known format")

// Detect finds the format of a file by its first records.
func Detect(path string, formats []Format) (Format, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	head, err := io.ReadAll(io.LimitReader(f, headBytes))
	if err != nil {
		return nil, err
	}
	for _, format := range formats {
		if records := firstRecords(head, format); len(records) > 0 && format.Detect(records) {
			return format, nil
		}
	}
	return nil, ErrUnrecognised
}

func firstRecords(head []byte, format Format) [][]byte {
	var records [][]byte
	s := splitter{limit: MaxLine}
	take := func(number int, b []byte, tooLong bool) {
		if tooLong || len(records) >= headRecords {
			return
		}
		records = append(records, parseLine(b, number == 1, format.IsRecord).records...)
	}
	s.feed(head, take)
	if endsObject(s.tail) {
		take(s.line+1, s.tail, false)
	}
	return records
}

// ByName picks the formats to try: all for "auto", else the named one.
func ByName(name string, formats []Format) ([]Format, error) {
	if name == "" || name == "auto" {
		return formats, nil
	}
	var known []string
	for _, f := range formats {
		if f.Name() == name {
			return []Format{f}, nil
		}
		known = append(known, f.Name())
	}
	return nil, errors.New("unknown format " + name + "; known are auto, " + strings.Join(known, ", "))
}
