//go:build race

package worker

// The race detector keeps several times what the program has.
const roomy = 1 << 30
