// Package e2e runs the real programs: it builds them once and drives them as a
// person would, from the command line, with kill -9 in between.
package e2e
