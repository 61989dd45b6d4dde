//go:build race

package importer

const raceDetector = true
