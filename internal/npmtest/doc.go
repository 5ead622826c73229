// Package npmtest installs what tests need of others' programs from npm, as a
// lock file says, and keeps it between runs. Tests alone may import it.
package npmtest
