package wirelog

import (
	"errors"
	"io"
	"strings"

	"github.com/google/uuid"
)

const (
	idFile = "archive.id"
	idTemp = "archive.id.tmp"
)

// identity reads the directory's id, and makes one when it is new.
func identity(fsys FS) (string, error) {
	id, err := readID(fsys)
	if err == nil || !notExist(err) {
		return id, err
	}
	f, err := fsys.Open(idTemp, true)
	if err != nil {
		return "", err
	}
	id = uuid.NewString()
	_, err = f.WriteAt([]byte(id+"\n"), 0)
	if err == nil {
		err = fsys.Persist([]File{f}, nil)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return "", err
	}
	if err := fsys.Rename(idTemp, idFile); err != nil {
		return "", err
	}
	return id, fsys.Persist(nil, []string{"."})
}

func readID(fsys FS) (string, error) {
	f, err := fsys.OpenRead(idFile)
	if err != nil {
		return "", err
	}
	b, err := io.ReadAll(io.NewSectionReader(f, 0, 64))
	if err = errors.Join(err, f.Close()); err != nil {
		return "", err
	}
	id, err := uuid.Parse(strings.TrimSpace(string(b)))
	if err != nil {
		return "", errors.New("the file " + idFile + " holds no id; remove it to make the recorder treat these files as another's")
	}
	return id.String(), nil
}
