// Package doctor looks a host over: what keeps profiles from running here, what
// will when there are more of them, and what lies about that should not. Each
// finding comes with the command that mends it. It changes nothing, asks no
// server, and shows no secret.
//
// The verb doctor calls it. What is wrong with one profile in detail is for
// the verb check, which goes the way of a start.
package doctor
