// Package dotenv reads a .env file as Hermes does, and takes keys out of one.
//
// Hermes has a reader of its own, which is neither the shell's nor any
// library's: no interpolation, no escapes but \" and \\ in double quotes, a
// comment only after white space. A value read by another grammar is a token
// that the server refuses. The rules are those of agent/secret_scope.py and
// hermes_cli/config.py of NousResearch/hermes-agent, with the loader's handling
// of encodings from hermes_cli/env_loader.py.
//
// Nothing here touches the process's environment, writes a file, or puts a
// value into an error.
package dotenv
