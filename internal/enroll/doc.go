// Package enroll is where people's wishes about homes are carried out: a bot is
// brought into a home, its credentials are changed, imported, sealed anew and
// taken out again, people and rooms are let in, changes are accepted, and a
// home is looked over. What a person pasted is understood here, and a token is
// proved before it is sealed.
//
// A [Desk] does it. A verb makes one for itself, under the locks of the state
// directory and of the home; a supervisor that runs has one of its own and is
// then the only writer. Everything in a home is done as the home's owner.
//
// The package never prints and asks nobody anything. Its errors are made for
// people, with the command that mends it, and neither they nor its results hold
// a secret.
package enroll
