package stack

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// part is one that runs until ctx ends, or until fail is told.
func part(name string, ready *atomic.Bool, fail <-chan error, stopped *atomic.Int32) Part {
	return Part{
		Name: name,
		Ready: func() error {
			if ready.Load() {
				return nil
			}
			return errors.New("warming up")
		},
		Run: func(ctx context.Context) error {
			defer stopped.Add(1)
			select {
			case <-ctx.Done():
				return nil
			case err := <-fail:
				return err
			}
		},
	}
}

func TestRun(t *testing.T) {
	for _, c := range []struct {
		name string
		end  func(cancel func(), fail chan<- error)
		want string
	}{
		{"stopped", func(cancel func(), _ chan<- error) { cancel() }, ""},
		{"one fails", func(_ func(), fail chan<- error) { fail <- errors.New("disk on fire") }, "two: disk on fire"},
		{"one ends", func(_ func(), fail chan<- error) { fail <- nil }, "two ended by itself"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var ready atomic.Bool
			var stopped atomic.Int32
			fail := make(chan error, 1)
			parts := []Part{part("one", &ready, nil, &stopped), part("two", &ready, fail, &stopped)}
			if err := Ready(parts); err == nil || !strings.Contains(err.Error(), "one: warming up") || !strings.Contains(err.Error(), "two: ") {
				t.Errorf("not ready says %v", err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			told := make(chan struct{})
			done := make(chan error, 1)
			go func() { done <- Run(ctx, parts, func() { close(told) }) }()
			select {
			case <-told:
				t.Error("told to be ready too early")
			case <-time.After(20 * time.Millisecond):
			}
			ready.Store(true)
			<-told
			c.end(cancel, fail)
			err := <-done
			if (err == nil) != (c.want == "") || err != nil && err.Error() != c.want || stopped.Load() != 2 {
				t.Errorf("error %v, %d parts stopped", err, stopped.Load())
			}
		})
	}
}

// A part that never becomes ready does not hold up the end.
func TestRunNeverReady(t *testing.T) {
	var ready atomic.Bool
	var stopped atomic.Int32
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := Run(ctx, []Part{part("one", &ready, nil, &stopped)}, func() { t.Error("told to be ready") })
	if err != nil || stopped.Load() != 1 {
		t.Errorf("error %v, %d parts stopped", err, stopped.Load())
	}
}

func TestHealth(t *testing.T) {
	var ready atomic.Bool
	var stopped atomic.Int32
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := ln.Addr().String()
	if err := ln.Close(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- Health(ctx, address, []Part{part("one", &ready, nil, &stopped)}) }()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	get := func(path string) (int, string) {
		t.Helper()
		for range 100 {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := client.Do(req)
			if err != nil { // not listening yet
				time.Sleep(10 * time.Millisecond)
				continue
			}
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Fatal(err)
			}
			return resp.StatusCode, string(body)
		}
		t.Fatal("nobody answers")
		return 0, ""
	}
	if code, _ := get("/healthz"); code != http.StatusOK {
		t.Errorf("healthz: %d", code)
	}
	if code, body := get("/readyz"); code != http.StatusServiceUnavailable || !strings.Contains(body, "one: warming up") {
		t.Errorf("readyz: %d %s", code, body)
	}
	ready.Store(true)
	if code, _ := get("/readyz"); code != http.StatusOK {
		t.Errorf("readyz: %d", code)
	}
	if err := Health(t.Context(), address, nil); err == nil || !strings.Contains(err.Error(), "--health-listen") {
		t.Errorf("a second one: %v", err)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestListen(t *testing.T) {
	for address, ok := range map[string]bool{
		"127.0.0.1:0": true, "[::1]:0": true, "localhost:0": true, "0.0.0.0:0": false, ":0": false, "192.0.2.1:0": false, "nowhere": false,
	} {
		ln, err := Listen(t.Context(), address, false)
		if err == nil {
			_ = ln.Close()
		}
		if ok && err != nil && strings.Contains(err.Error(), "cannot assign") {
			continue // no IPv6 here
		}
		if (err == nil) != ok {
			t.Errorf("%s: %v", address, err)
		}
	}
	ln, err := Listen(t.Context(), "0.0.0.0:0", true)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	if url := URL(ln); !strings.HasPrefix(url, "http://127.0.0.1:") {
		t.Errorf("clients are told %s", url)
	}
}

func TestMemberName(t *testing.T) {
	a, b := MemberName(), MemberName()
	if a == b || strings.ContainsFunc(a, func(r rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_", r)
	}) {
		t.Errorf("names %q and %q", a, b)
	}
}

func TestDialGivesUp(t *testing.T) {
	s := Server{URL: "nats://127.0.0.1:1"}
	_, err := s.Dial(t.Context(), "test", 300*time.Millisecond, slog.New(slog.DiscardHandler))
	if err == nil || !strings.Contains(err.Error(), "--nats-url") {
		t.Errorf("error %v", err)
	}
}
