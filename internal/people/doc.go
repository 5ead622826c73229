// Package people keeps, in the supervisor's state directory, what is known of
// people before a profile's access.yaml knows them: the one-time code by which
// the first owner proves himself, and the requests of strangers. Both are
// ours alone; only what comes of them is written into a home.
package people
