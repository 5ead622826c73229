package gate

import "rcsupervisor/profile"

// An Action is what has to be done with a message.
type Action uint8

// The actions.
const (
	// Ignore: nothing is said. Where MoveCursor is set the message is settled.
	Ignore Action = iota
	// Retry: the room's facts are missing. The message is neither handled nor
	// settled; the caller finds out and asks again.
	Retry
	// Ask: a question for the agent.
	Ask
	// Order: one of our own commands, by somebody who may give it.
	Order
	// Answered: an answer to a request that is or was open. See [Answer].
	Answered
	// Stranger: somebody who is not let in wrote to the bot directly. He may
	// get one line, and a request to let him in appears; how often is the
	// caller's to bound.
	Stranger
	// Refuse: one short line says why not.
	Refuse
)

var actions = [...]string{"ignore", "retry", "ask", "order", "answered", "stranger", "refuse"}

func (a Action) String() string {
	if int(a) < len(actions) {
		return actions[a]
	}
	return "unknown"
}

// A Step is where a message's way through the gate ended. Its name is stable:
// it is the label of a counter.
type Step string

// The steps, in the order in which they are taken.
const (
	StepOwn        Step = "own"        // the bot's own message
	StepSystem     Step = "system"     // a server's note (`t`), or shown to one user alone
	StepBot        Step = "bot"        // a webhook, an app, or a user known as a bot
	StepSibling    Step = "sibling"    // another bot of this supervisor
	StepIgnored    Step = "ignored"    // listed under ignore_senders, or without any id
	StepEdited     Step = "edited"     // published again because it was edited; or edited by another than its sender
	StepReemit     Step = "reemit"     // published again for another reason
	StepAge        Step = "age"        // older than limits.age, or without a time
	StepUnknown    Step = "unknown"    // the room's facts are missing
	StepMembership Step = "membership" // the bot is not in that room
	StepLivechat   Step = "livechat"   // an omnichannel room
	StepKind       Step = "kind"       // any other kind of room that isn't known
	StepArchived   Step = "archived"
	StepReadOnly   Step = "read-only" // and the bot may not post in it
	StepRoomOff    Step = "room-off"
	StepAwaited    Step = "awaited" // an answer to a request
	StepUnwoken    Step = "unwoken" // the bot was not mentioned
	StepBlocked    Step = "blocked"
	StepStranger   Step = "stranger"
	StepEncrypted  Step = "encrypted" // nobody but its readers can read it
	StepCommand    Step = "command"
	StepEmpty      Step = "empty" // nothing to answer: no text, no file, no quote
	StepRate       Step = "rate"  // over limits.answers_per_hour
	StepLoop       Step = "loop"  // the room's hard cap: two bots may be talking
	StepQuestion   Step = "question"
)

// Steps are all steps there are, in their order.
var Steps = []Step{
	StepOwn, StepSystem, StepBot, StepSibling, StepIgnored, StepEdited, StepReemit, StepAge,
	StepUnknown, StepMembership, StepLivechat, StepKind, StepArchived, StepReadOnly, StepRoomOff,
	StepAwaited, StepUnwoken, StepBlocked, StepStranger, StepEncrypted, StepCommand, StepEmpty,
	StepRate, StepLoop, StepQuestion,
}

// A Why is the reason of a Refuse.
type Why string

// The reasons.
const (
	WhyCommand   Why = "command"   // a command this person may not give
	WhyPending   Why = "pending"   // words of approval while a request is open: only its numbers, yes or no decide
	WhyEncrypted Why = "encrypted" // the room is encrypted: said once per room
	WhyRate      Why = "rate"      // over the hour's answers
)

// A Kind is what a room is to an agent.
type Kind string

// The kinds.
const (
	KindDirect  Kind = "direct"  // one person and the bot
	KindGroup   Kind = "group"   // a direct room of more, or a private channel
	KindChannel Kind = "channel" // a public channel
)

// A Verdict is what a message means. The zero value of each field that an
// action doesn't concern is left.
type Verdict struct {
	Action Action
	Step   Step
	Why    Why

	// MoveCursor tells that the message is settled once the verdict is carried
	// out, and that its time may move the room's cursor. It is never set for
	// what was published again, for what is too old, and outside the rooms the
	// bot is in.
	MoveCursor bool

	Role profile.Role // of the sender; "" for a stranger
	Kind Kind         // of the room

	// Text is the question with the mention taken out, of an Ask. For a Bare
	// one it is the command as Hermes reads it.
	Text string
	// Bare marks a command for the agent itself: it is shown to the agent
	// alone, without header, context or token.
	Bare bool

	Command Command // of an Order, and of what was refused as a command
	Answer  Answer  // of an Answered
}

// A Command as it was written. Name is in lower case and without its sign;
// Args is what follows, as it is.
type Command struct {
	Name string
	Args string
}

// Our own commands.
const (
	Help   = "help"
	Status = "status"
	Stop   = "stop"
	New    = "new"
)

// OfTheAsker reports whether a command concerns the running turn: a member may
// give it only where he is the one who asked, an owner always. Who asked is
// not known to the gate.
func (c Command) OfTheAsker() bool { return c.Name == Stop || c.Name == New }
