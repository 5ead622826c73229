package main

import (
	"os"
	"strings"
	"testing"

	"rcsupervisor/profile"
)

// The README's reference of keys is made from the table that validation uses.
func TestReadmeHoldsTheKeyReference(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(readme), profile.Reference()) {
		t.Errorf("README.md does not hold the reference as it is now:\n%s", profile.Reference())
	}
}
