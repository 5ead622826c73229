//go:build race

package trial

// raceEnabled makes what is counted ten times dearer.
const raceEnabled = true
