// Package sealed keeps secrets at rest and in memory: the host's identity and
// recipients, the envelope each profile's credentials are sealed in, and
// [Secret], a value that never prints.
//
// An envelope is age over versioned JSON. It opens only for the profile it
// names, and its token goes only to the server it names: age does not say who
// wrote a file, so whoever can write into a home could otherwise swap one
// tenant's envelope for another's.
//
// The package knows nothing of Rocket.Chat and nothing of where a home lies;
// it is given folders to read and write.
package sealed
