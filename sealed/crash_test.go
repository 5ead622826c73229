package sealed

import "os"

// childDir names the folder a child process of the tests works in.
const childDir = "SEALED_CHILD_DIR"

func child() { os.Exit(1) }
