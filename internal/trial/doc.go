// Package trial puts whole channels to the test: nothing twice, nothing lost.
// It holds no code that the program uses, and nothing may import it.
//
// A trial runs a pretend Rocket.Chat on which people ask questions, and one or
// many channels with a real store in a real home. Its judge reads all rooms at
// the end: each question has exactly one whole answer, or exactly one note that
// it was interrupted, and no agent was asked the same thing twice.
//
//   - The kill trials kill a channel's process, and a supervisor and its workers
//     in turn, at random moments while the server loses replies and restarts.
//     Run with stores that do it wrong they have to fail.
//   - The trial of the steps ends the process before and after each durable
//     step, once for each of them, and while it posts.
//   - The load trial and the trial of what was missed count, and measure what
//     is worth measuring.
//
// What takes long is asked for in the environment:
//
//   - TRIAL_KILLS is how often the kill trials kill; TRIAL_SEED makes the choices
//     of one again, and chooses the server's personality: three seeds in a row
//     are all of them.
//   - TRIAL_PAIRS=1 ends processes at each pair of steps.
//   - TRIAL_TIME (such as 5m) and TRIAL_CHANNELS are the size of the load trial.
//   - TRIAL_MISSED is how many of the missed messages are questions.
//   - TRIAL_DEBUG=1 shows what channels of this process say.
package trial
