//go:build race

package supervisor

// Under the race detector everything takes several times as long.
const raceEnabled = true
