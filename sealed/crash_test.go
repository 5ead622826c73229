package sealed

import (
	"fmt"
	"os"
	"strconv"
)

// The test binary run again as another process, in the folder childDir names.
const (
	childDir  = "SEALED_CHILD_DIR"
	childVerb = "SEALED_CHILD_VERB"
	childArg  = "SEALED_CHILD_ARG"
)

func child() {
	n, err := strconv.Atoi(os.Getenv(childArg))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	switch os.Getenv(childVerb) {
	case "panic":
		panics[n](NewSecret(testToken), envelope("alice"))
	}
}
