// Package prompt makes the whole of what an agent is shown for a question.
// Nobody else adds to it or sends an agent text of people past it.
//
// It is pure: no I/O, no clock, no randomness. Any goroutine may call it.
//
// Three rules hold for every byte that a person had a hand in, be it a
// question, an earlier message, a quote, a document, or a name:
//
//   - Column 0 is ours. A line that says who wrote what begins there; every
//     line of people's text is indented, whatever its writer took for a line
//     break. So nobody can write a line that looks like one of ours.
//   - Nothing is hidden. Characters that are not seen are taken out (control,
//     bidi, zero-width and tag characters, variation selectors, fillers), but
//     for those that emoji and some scripts need; and so is what is shaped like
//     an asker token.
//   - Nothing wakes a reference. Hermes reads files and addresses into a prompt
//     where it finds @file:, @url: and the like anywhere in it, with the bot's
//     rights, not the writer's. A zero-width space after the @ keeps them
//     inert; it is put in last of all, since anything done to the text after it
//     could undo it. Only an owner's own text is spared, and only where
//     `allow_context_references` is set.
//
// What it can't do: keep an agent from believing what it reads. Earlier
// messages are marked as other people's data, not as instructions; that is
// advice to the agent, not a wall.
package prompt
