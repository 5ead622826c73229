// Package enroll brings a bot into a home and looks a home over: where a
// profile's home is or would be, what a person pasted, whether a token is the
// bot's before it is sealed, and all that can be wrong with a profile, step by
// step. Everything in a home is done as the home's owner.
//
// It never prints, and nothing it returns holds a secret.
package enroll
