package cli

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// program is a small command line that fails as it is told.
func program(seen *string) *cobra.Command {
	root := &cobra.Command{Use: "prog"}
	sub := &cobra.Command{
		Use: "do NAME", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			url, err := cmd.Flags().GetString("some-url")
			if err != nil {
				return err
			}
			n, err := cmd.Flags().GetInt("count")
			*seen = url + " " + strings.Repeat("x", n)
			switch args[0] {
			case "usage":
				return Usagef("name %q is wrong", args[0])
			case "look":
				return LookAt("two things")
			case "fail":
				return errors.New("line one\nline\x1b[2J two")
			}
			return err
		},
	}
	sub.Flags().String("some-url", "default", "")
	sub.Flags().Int("count", 1, "")
	root.AddCommand(sub)
	return root
}

func TestExecute(t *testing.T) {
	for _, c := range []struct {
		name string
		args []string
		env  map[string]string
		code int
		seen string
		errs string
	}{
		{"works", []string{"do", "it"}, nil, OK, "default x", ""},
		{"fails", []string{"do", "fail"}, nil, Failed, "default x", "prog: line one line [2J two\n"},
		{"refuses", []string{"do", "usage"}, nil, Usage, "default x", "prog: name \"usage\" is wrong\nSee prog --help.\n"},
		{"has something to look at", []string{"do", "look"}, nil, Look, "default x", "prog: two things\n"},
		{"no argument", []string{"do"}, nil, Usage, "", "accepts 1 arg"},
		{"unknown flag", []string{"do", "it", "--nope"}, nil, Usage, "", "unknown flag"},
		{"bad value", []string{"do", "it", "--count", "x"}, nil, Usage, "", "invalid argument"},
		{"unknown command", []string{"nope"}, nil, Usage, "", "unknown command"},
		{"environment", []string{"do", "it"}, map[string]string{"STENO_SOME_URL": "env", "STENO_COUNT": "2"}, OK, "env xx", ""},
		{"flag before environment", []string{"do", "it", "--some-url", "flag"}, map[string]string{"STENO_SOME_URL": "env"}, OK, "flag x", ""},
		{"bad environment", []string{"do", "it"}, map[string]string{"STENO_COUNT": "x"}, Usage, "", "environment variable STENO_COUNT"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var seen string
			var out, errs strings.Builder
			code := Execute(t.Context(), program(&seen), c.args, IO{
				Getenv: func(name string) string { return c.env[name] }, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs,
			})
			if code != c.code || seen != c.seen || !strings.Contains(errs.String(), c.errs) || c.errs == "" && errs.Len() > 0 || out.Len() > 0 {
				t.Errorf("code %d, saw %q, stdout %q, stderr %q", code, seen, out.String(), errs.String())
			}
		})
	}
}

func TestHelpGoesToStdout(t *testing.T) {
	var seen string
	var out, errs strings.Builder
	code := Execute(t.Context(), program(&seen), []string{"do", "--help"}, IO{
		Getenv: func(string) string { return "" }, Stdout: &out, Stderr: &errs,
	})
	if code != OK || !strings.Contains(out.String(), "--some-url") || errs.Len() > 0 {
		t.Errorf("code %d, stdout %q, stderr %q", code, out.String(), errs.String())
	}
}

func TestLogger(t *testing.T) {
	if _, err := Logger(io.Discard, "loud"); err == nil {
		t.Error("level loud was taken")
	}
	var out strings.Builder
	log, err := Logger(&out, "warn")
	if err != nil {
		t.Fatal(err)
	}
	log.Info("quiet")
	log.Warn("heard")
	if !strings.Contains(out.String(), "heard") || strings.Contains(out.String(), "quiet") {
		t.Errorf("logged %q", out.String())
	}
}
