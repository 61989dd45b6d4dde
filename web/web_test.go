package web

import (
	"context"
	"io/fs"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// Nothing in the page interprets text as markup or code, and nothing in it
// needs the policy to allow inline script or style, or another origin.
func TestPageInterpretsNoText(t *testing.T) {
	banned := regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function|srcdoc|DOMParser|createContextualFragment|\.style\b|setAttribute\('style'`)
	inline := regexp.MustCompile(`(?i)<script(?:[^>]*)>[^<]|<style|\sstyle=|\son[a-z]+=|javascript:`)
	elsewhere := regexp.MustCompile(`(?i)(?:https?:)?//[a-z0-9-]+\.[a-z]`)
	size := 0
	err := fs.WalkDir(Files(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(Files(), path)
		if err != nil {
			return err
		}
		size += len(data)
		if m := banned.Find(data); m != nil && strings.HasSuffix(path, ".js") {
			t.Errorf("%s has %s", path, m)
		}
		if m := inline.Find(data); m != nil && strings.HasSuffix(path, ".html") {
			t.Errorf("%s has %s", path, m)
		}
		if m := elsewhere.Find(data); m != nil && !strings.HasSuffix(path, ".svg") {
			t.Errorf("%s names %s", path, m)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if size > 300<<10 {
		t.Errorf("the embedded files have %d bytes", size)
	}
}

func TestHandler(t *testing.T) {
	for _, tc := range []struct {
		method, path string
		status       int
		contentType  string
	}{
		{"GET", "/", 200, "text/html; charset=utf-8"},
		{"HEAD", "/", 200, "text/html; charset=utf-8"},
		{"GET", "/app/main.js", 200, "text/javascript; charset=utf-8"},
		{"GET", "/client/transcript.js", 200, "text/javascript; charset=utf-8"},
		{"GET", "/app/style.css", 200, "text/css; charset=utf-8"},
		{"GET", "/web.go", 404, ""},
		{"GET", "/test/transcript.test.js", 404, ""},
		{"POST", "/", 405, ""},
	} {
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), tc.method, tc.path, nil)
		Handler().ServeHTTP(w, r)
		if w.Code != tc.status {
			t.Errorf("%s %s: %d", tc.method, tc.path, w.Code)
		}
		if ct := w.Header().Get("Content-Type"); tc.contentType != "" && ct != tc.contentType {
			t.Errorf("%s %s: %s", tc.method, tc.path, ct)
		}
		policy := w.Header().Get("Content-Security-Policy")
		if !strings.HasPrefix(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") {
			t.Errorf("%s: policy %q", tc.path, policy)
		}
		if w.Header().Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: sniffing is allowed", tc.path)
		}
	}
}

func TestClient(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not installed: the JavaScript client is not tested")
	}
	files, err := filepath.Glob("test/*.test.js")
	if err != nil || len(files) == 0 {
		t.Fatalf("no tests (%v)", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, node, append([]string{"--test"}, files...)...).CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
