// Package supervisor decides which channels run, and when each connects.
//
// It owns what is wanted of every profile and what becomes of it: one
// goroutine, a keeper, for each profile hears what the home says and what its
// run reports, asks healthcheck what follows, and does it. What profiles share
// lies beside them, each behind a lock of its own: the ledger and who holds
// which bot ([registry]), what is known of servers and the budgets drawn on
// ([servers]).
//
// A fault of one profile is that profile's state. Nothing here waits for a
// channel, a home or a disk on a keeper's goroutine: commands and reports are
// latest-wins, homes are read and envelopes opened beside it, and the ledger
// is written by a goroutine of its own.
//
// How runs are carried is worker's to know, how people are answered control's;
// both see a [Supervisor] through its exported methods, from any goroutine.
package supervisor
