package wirelog

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/klauspost/compress/zstd"
)

const (
	partPrefix   = "wire."
	partSuffix   = ".jsonl"
	packedSuffix = ".jsonl.zst"
)

// partFile is one file of an agent's log.
type partFile struct {
	name   string // relative to the FS
	num    int    // 0 for the open one
	packed bool
}

func partName(num int) string { return fmt.Sprintf("%s%04d%s", partPrefix, num, partSuffix) }

// listParts lists an agent's finished parts in order, then the open file.
func listParts(fsys ReadFS, dir string) ([]partFile, error) {
	names, err := fsys.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var parts []partFile
	hasOpen := false
	for _, name := range names {
		p, ok := parsePart(name)
		switch {
		case name == openFile:
			hasOpen = true
		case !ok:
		case len(parts) > 0 && parts[len(parts)-1].num == p.num: // plain sorts first: both are whole
		default:
			p.name = dir + "/" + name
			parts = append(parts, p)
		}
	}
	slices.SortFunc(parts, func(a, b partFile) int { return a.num - b.num })
	if hasOpen {
		parts = append(parts, partFile{name: dir + "/" + openFile})
	}
	return parts, nil
}

func parsePart(name string) (partFile, bool) {
	num, ok := strings.CutPrefix(name, partPrefix)
	if !ok {
		return partFile{}, false
	}
	plain, isPlain := strings.CutSuffix(num, partSuffix)
	packed, isPacked := strings.CutSuffix(num, packedSuffix)
	if isPacked {
		plain = packed
	}
	n, err := strconv.Atoi(plain)
	if err != nil || n < 1 || !isPlain && !isPacked || len(plain) < 4 {
		return partFile{}, false
	}
	return partFile{num: n, packed: isPacked}, true
}

// partReader reads the text of a part.
type partReader struct {
	io.Reader
	file ReadFile
	zst  *zstd.Decoder
}

// openPart opens a part at its beginning. The caller closes it.
func openPart(fsys ReadFS, p partFile) (*partReader, error) {
	f, err := fsys.OpenRead(p.name)
	if err != nil {
		return nil, err
	}
	size, err := f.Size()
	if err != nil {
		f.Close()
		return nil, err
	}
	r := &partReader{file: f, Reader: io.NewSectionReader(f, 0, size)}
	if !p.packed {
		return r, nil
	}
	if r.zst, err = zstd.NewReader(r.Reader, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(64<<20)); err != nil {
		f.Close()
		return nil, err
	}
	r.Reader = r.zst
	return r, nil
}

func (r *partReader) Close() error {
	if r.zst != nil {
		r.zst.Close()
	}
	return r.file.Close()
}
