// Package deliver takes owed answers from the store to done.
package deliver
