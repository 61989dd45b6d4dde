// Package cli is what every program of Steno shares on its command line:
// flags with environment fallback, exit codes, signals and the log.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// The exit codes.
const (
	OK     = 0
	Failed = 1
	Usage  = 2
	Look   = 3 // done, with something to look at
)

// IO is the world outside a program.
type IO struct {
	Getenv         func(string) string
	Stdin          io.Reader
	Stdout, Stderr io.Writer
}

// Process is the IO of the running process.
func Process() IO {
	return IO{Getenv: os.Getenv, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
}

// codeError ends a program with an exit code of its own.
type codeError struct {
	code int
	err  error
}

func (e *codeError) Error() string { return e.err.Error() }
func (e *codeError) Unwrap() error { return e.err }

// Usagef is an error of the caller: exit code 2.
func Usagef(format string, args ...any) error {
	return &codeError{code: Usage, err: fmt.Errorf(format, args...)}
}

// LookAt ends a program that did its work with exit code 3; message says what
// to look at.
func LookAt(message string) error { return &codeError{code: Look, err: errors.New(message)} }

// Execute runs a command and returns the exit code. Every flag that is not
// given takes the value of STENO_<NAME>, when that is set.
func Execute(ctx context.Context, root *cobra.Command, args []string, world IO) int {
	ran := false
	root.SetArgs(args)
	root.SetIn(world.Stdin)
	root.SetOut(world.Stdout)
	root.SetErr(world.Stderr)
	root.SilenceErrors, root.SilenceUsage = true, true
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		err := fromEnvironment(cmd.Flags(), world.Getenv)
		ran = err == nil
		return err
	}
	err := root.ExecuteContext(ctx)
	if err == nil {
		return OK
	}
	var coded *codeError
	code := Failed
	switch {
	case errors.As(err, &coded):
		code = coded.code
	case !ran: // cobra's own errors: flags, arguments, commands
		code = Usage
	}
	fmt.Fprintf(world.Stderr, "%s: %s\n", root.Name(), Line(err.Error()))
	if code == Usage {
		fmt.Fprintf(world.Stderr, "See %s --help.\n", root.Name())
	}
	return code
}

// EnvName is the environment variable behind a flag.
func EnvName(flag string) string {
	return "STENO_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

func fromEnvironment(flags *pflag.FlagSet, getenv func(string) string) error {
	var bad error
	flags.VisitAll(func(f *pflag.Flag) {
		value := getenv(EnvName(f.Name))
		if f.Changed || value == "" || f.Name == "help" || f.Name == "version" {
			return
		}
		if err := flags.Set(f.Name, value); err != nil && bad == nil {
			bad = Usagef("environment variable %s: %w", EnvName(f.Name), err)
		}
	})
	return bad
}

// Signals returns a context that ends with the first SIGINT or SIGTERM. The
// second one ends the process at once. Call stop when done.
func Signals(parent context.Context) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancel(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	done := make(chan struct{})
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		for n := 0; ; n++ {
			select {
			case <-done:
				return
			case <-signals:
				if n > 0 {
					os.Exit(130)
				}
				cancel()
			}
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(done)
		<-finished
		cancel()
	}
}

// Logger writes the log of a program as text.
func Logger(w io.Writer, level string) (*slog.Logger, error) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return nil, Usagef("log level %q: want debug, info, warn or error", level)
	}
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: l})), nil
}

// Line makes a text that may come from anywhere fit for one line of a
// terminal: no control character reaches it.
func Line(s string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x20 || r == 0x7f || r >= 0x80 && r < 0xa0 || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, s)
}
