// Package hostfile reads the host file that --config names: what the operator
// of a machine says of all profiles. It is as strict as a profile's own files:
// an unknown or repeated key, or a value of a wrong type, is an error with file
// and line, and never quotes the file.
//
// The verbs and the supervisor read it, once each. The package decides
// nothing: what a root, a ceiling or a permitted server means is for its
// callers.
package hostfile
