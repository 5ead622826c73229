// Package deliver takes owed answers from the store to done: one part after
// another in each room, tried until the server has it, it can never have it,
// or it is too late; and each end is settled in the store.
//
// Nothing is posted while no connection is online. An answer waits in the
// store meanwhile, not only here.
package deliver
