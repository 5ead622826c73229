//go:build race

package main

// raced says that this test binary is slow to start: scripts, which start
// hundreds of processes, then use a plain build of the program.
const raced = true
