// Package collector paces Go's garbage collector in a process that hosts quiet
// channels. By default the collector lets a heap grow to twice of what lives in
// it, and what was allocated for a moment lies between what stays: of a thousand
// quiet bots, each of which begins with a TLS handshake and is silent from then
// on, a third of the memory is such holes. A process that does little can afford
// to collect more often.
//
// So a heap that is large enough for it to matter is collected early while that
// costs next to nothing, and as late as by default once it costs half a core, or
// half of what the process gets; memory that was freed is returned to the system
// a few times after the process has become quiet, and then left alone. The
// policy is one function without a clock.
//
// Who runs channels in its process runs it once: the shared carrier, and a
// worker. An operator who sets GOGC has it his way.
package collector
