// Package supervisor decides which channels run, and when each connects.
package supervisor
