// Package conversation is one room and thread: the questions that wait there,
// and one turn at a time. All people of the room share it.
//
// A turn takes a claimed question to answered: it is marked given before the
// agent sees it, the agent's events are read to their end, and the whole
// answer is stored in one step. From then on it is deliver's. No turn ends
// because a connection does.
//
// The package knows neither the wire nor the gate: what an agent is shown, and
// the signs of work people see, are its caller's, through [Config].
package conversation
