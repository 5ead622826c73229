// Package profile is a tenant's home: where it is found, how it is read, what
// its settings and access files mean, and what a change of them means.
//
// A home is never trusted: it is read as its owner, in bounded time and size,
// without following links out of it. The package writes only access.yaml, and
// knows nothing of Rocket.Chat or of what is sealed.
package profile
