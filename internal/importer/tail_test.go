package importer

import (
	"os"
	"path/filepath"
	"testing"
)

func TestTail(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	tail := NewTail(path)
	defer tail.Close()
	buf := make([]byte, 64)
	write := func(flags int, text string) {
		t.Helper()
		f, err := os.OpenFile(path, flags|os.O_CREATE|os.O_WRONLY, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(text); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	// expect reads until something happens, at most three times: opening and
	// closing take a call of their own.
	expect := func(text string, change Change) {
		t.Helper()
		for range 3 {
			n, c, err := tail.Read(buf)
			if err != nil {
				t.Fatal(err)
			}
			if n > 0 || c != Same {
				if string(buf[:n]) != text || c != change {
					t.Fatalf("got %q and %d, want %q and %d", buf[:n], c, text, change)
				}
				return
			}
		}
		if text != "" || change != Same {
			t.Fatalf("nothing happened, want %q and %d", text, change)
		}
	}
	expect("", Same) // not there yet
	write(0, "one")
	expect("one", Same)
	expect("", Same)
	write(os.O_APPEND, "two")
	expect("two", Same)
	write(os.O_TRUNC, "new")
	expect("", Cut)
	expect("new", Same)
	write(os.O_APPEND, "!")
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	expect("!", Same) // what was written before the rotation
	expect("", Gone)
	expect("", Same) // told once
	write(0, "next")
	expect("", Replaced)
	expect("next", Same)
}
