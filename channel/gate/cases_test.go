package gate

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"rcsupervisor/channel/chat"
	"rcsupervisor/profile"
)

// event decides a raw event as it comes from a socket.
func event(t *testing.T, message, context string, change func(*Facts)) Verdict {
	t.Helper()
	m, where, err := chat.ParseEvent([]json.RawMessage{json.RawMessage(message), json.RawMessage(context)})
	if err != nil {
		t.Fatal(err)
	}
	f := facts()
	f.Room = FromEvent(where)
	if change != nil {
		change(&f)
	}
	return Decide(m, f)
}

// at is a time of the socket's, before noon.
func at(before time.Duration) string {
	return fmt.Sprintf(`{"$date":%d}`, noon.Add(-before).UnixMilli())
}

const inLab = `{"roomParticipant":true,"roomType":"c","roomName":"lab"}`

// Public bug reports about wrong triggers, each as the event that set it off.
// A question asked as it should be stands first: the others differ from it.
func TestReportedWrongTriggers(t *testing.T) {
	mentions := `"mentions":[{"_id":"uHermes","username":"hermes"}]`
	ask := func(from, fields string) string {
		return `{"_id":"m1","rid":"rOn","msg":"@hermes hello","u":{"_id":"` + from + `","username":"x"},` + fields + `}`
	}
	now := `"ts":` + at(time.Second) + `,"_updatedAt":` + at(970*time.Millisecond)
	yesterday := `"ts":` + at(20*time.Hour) + `,"_updatedAt":` + at(0)
	recently := `"ts":` + at(time.Minute) + `,"_updatedAt":` + at(0)
	for _, c := range []struct {
		report, message, context string
		change                   func(*Facts)
		want                     string
	}{
		{"as it should be", ask(member, now+","+mentions), inLab, nil, "ASK"},
		{"hermes-plugin#5: a root comes again with its thread", ask(member, yesterday+`,"tcount":1,"tlm":`+at(0)+`,"replies":["x"],`+mentions), inLab, nil, "reemit*"},
		{"P44: a reply sends its parent again", ask(member, recently+`,"tcount":1,"tlm":`+at(0)+`,`+mentions), inLab, nil, "reemit*"},
		{"rocketchat-modern-client#11: a reaction", ask(member, recently+`,"reactions":{":+1:":{"usernames":["x"]}},`+mentions), inLab, nil, "reemit*"},
		{"a reaction taken back", ask(member, recently+`,"reactions":[],`+mentions), inLab, nil, "reemit*"},
		{"the bot's own eyes on it", ask(member, recently+`,"reactions":{":eyes:":{"usernames":["hermes"]}},`+mentions), inLab, nil, "reemit*"},
		{"P45: a reaction to last week's message, without a mark", ask(member, yesterday+","+mentions), inLab, nil, "age*"},
		{"hubot PR#119: an edit", ask(member, now+`,"editedAt":`+at(0)+`,"editedBy":{"_id":"uMember"},`+mentions), inLab, nil, "edited*"},
		{"an edit puts a mention in", ask(member, recently+`,"editedAt":`+at(0)+`,`+mentions), inLab, nil, "edited*"},
		{"pinned", ask(member, recently+`,"pinned":true,"pinnedAt":`+at(0)+`,`+mentions), inLab, nil, "reemit*"},
		{"and its note", ask(member, now+`,"t":"message_pinned",`+mentions), inLab, nil, "system"},
		{"starred", ask(member, recently+`,"starred":[{"_id":"x"}],`+mentions), inLab, nil, "reemit*"},
		{"a preview came late", ask(member, recently+`,"urls":[{"url":"https://x.org/","meta":{"a":"b"}}],`+mentions), inLab, nil, "reemit*"},
		{"a preview came at once", ask(member, now+`,"urls":[{"url":"https://x.org/","meta":{"a":"b"}}],`+mentions), inLab, nil, "ASK"},
		{"deleted", ask(member, now+`,"t":"rm","editedAt":`+at(0)+`,`+mentions), inLab, nil, "system*"},
		{"a bot of that name was kicked", `{"_id":"m1","rid":"rOn","msg":"hermes","t":"ru","u":{"_id":"uMember"},` + now + `}`, inLab, nil, "system"},
		{"RC#11706: an ephemeral note", ask(member, now+`,"private":true,`+mentions), inLab, nil, "system"},
		{"hubot#233: its name without @", `{"_id":"m1","rid":"rOn","msg":"hermes, hello","u":{"_id":"uMember"},"mentions":[],` + now + `}`, inLab, nil, "unwoken"},
		{"RC#4237: others' text", `{"_id":"m1","rid":"rOn","msg":"what do you think?","u":{"_id":"uMember"},` + now + `}`, inLab, nil, "unwoken"},
		{"developer-docs#201: a room it never joined", ask(member, now+","+mentions), `{"roomParticipant":false,"roomType":"c","roomName":"lab"}`, nil, "membership*"},
		{"RC#12574: the room is not said", ask(member, now+","+mentions), `null`, nil, "RETRY*"},
		{"and then asked for", ask(member, now+","+mentions), `null`, func(f *Facts) { f.Room = FromInfo(chat.Room{Kind: chat.Channel, UsersCount: 9}, true, false) }, "ASK"},
		{"and it is not a member", ask(member, now+","+mentions), `null`, func(f *Facts) { f.Room = FromInfo(chat.Room{Kind: chat.Channel}, false, false) }, "membership*"},
		{"and nothing is known of it", ask(member, now+","+mentions), `null`, func(f *Facts) { f.Room = FromInfo(chat.Room{}, true, false) }, "RETRY*"},
		{"hubot#195: livechat", ask(member, now+","+mentions), `{"roomParticipant":true,"roomType":"l"}`, nil, "livechat"},
		{"a kind nobody knows", ask(member, now+","+mentions), `{"roomParticipant":true,"roomType":"z"}`, nil, "kind"},
		{"hubot#67: a direct room of three is a group", ask(member, now+","+mentions), `{"roomParticipant":true,"roomType":"d"}`, func(f *Facts) {
			f.Room = FromInfo(chat.Room{Kind: chat.Direct, UserIDs: []string{"a", "b", "c"}}, true, false)
		}, "ASK"},
		{"which has to be on", `{"_id":"m1","rid":"rThem","msg":"hello","u":{"_id":"uMember"},` + now + `}`, `{"roomParticipant":true,"roomType":"d"}`, func(f *Facts) { f.Room = FromInfo(chat.Room{Kind: chat.Direct, UsersCount: 3}, true, false) }, "room-off"},
		{"nobody counted it", `{"_id":"m1","rid":"rThem","msg":"hello","u":{"_id":"uMember"},` + now + `}`, `{"roomParticipant":true,"roomType":"d"}`, func(f *Facts) { f.Room = FromInfo(chat.Room{Kind: chat.Direct}, true, false) }, "room-off"},
		{"hermes-plugin 1.5.0: a webhook", ask(member, now+`,"bot":{"i":"x"},"alias":"Mia",`+mentions), inLab, nil, "bot"},
		{"another bot, known by its role", ask(otherBot, now+","+mentions), inLab, nil, "bot"},
		{"another bot, by its type", `{"_id":"m1","rid":"rOn","msg":"@hermes","u":{"_id":"uMember","type":"bot"},` + now + `}`, inLab, nil, "bot"},
		{"AutoGPT PR#13174: two bots of one house", ask(sibling, now+","+mentions), inLab, nil, "sibling"},
		{"even one that is let in", ask("uOther", now+","+mentions), inLab, func(f *Facts) {
			a := access()
			a.People = append(a.People, profile.Person{ID: "uOther", Role: profile.Owner})
			f.Policy = Compile(a, []string{"uOther"})
		}, "sibling"},
		{"octos#1546: a hard cap for what nobody knows to be a bot", ask(member, now+","+mentions), inLab, func(f *Facts) { f.OverCap = true }, "loop"},
		{"hermes#11901: another bot's name begins with its own", `{"_id":"m1","rid":"rOn","msg":"@hermes-bot2 hello","u":{"_id":"uMember"},` + now + `}`, inLab, nil, "unwoken"},
		{"RC#16622: quoted", `{"_id":"m1","rid":"rOn","msg":"> @hermes hello","u":{"_id":"uMember"},` + now + `}`, inLab, nil, "unwoken"},
		{"RC#7280: names of other characters", `{"_id":"m1","rid":"rOn","msg":"@hermesé hello","u":{"_id":"uMember"},` + now + `}`, inLab, nil, "unwoken"},
		{"RC#6363: white space around it", `{"_id":"m1","rid":"rOn","msg":" \u00a0@hermes\u00a0hello ","u":{"_id":"uMember"},` + now + `}`, inLab, nil, "ASK"},
		{"openclaw#82740: a mention in a thread", ask(member, now+`,"tmid":"t1",`+mentions), inLab, nil, "ASK"},
		{"a discussion is a room of its own, and off", `{"_id":"m1","rid":"rDiscussion","msg":"@hermes","u":{"_id":"uMember"},` + mentions + "," + now + `}`, `{"roomParticipant":true,"roomType":"p","roomName":"kD9wEr"}`, nil, "room-off"},
		{"an encrypted room", ask(member, now+`,"t":"e2e","e2e":"pending",`+mentions), inLab, nil, "REFUSE encrypted"},
	} {
		if got := short(event(t, c.message, c.context, c.change)); got != c.want {
			t.Errorf("%s: %s, want %s", c.report, got, c.want)
		}
	}
}

func TestKindsOfRooms(t *testing.T) {
	for kind, want := range map[chat.Kind]Kind{chat.Channel: KindChannel, chat.Group: KindGroup, chat.Direct: KindGroup} {
		m, f := hello(), facts()
		f.Room = Room{Known: true, Participant: true, Informed: true, Kind: kind, Members: 3}
		if v := Decide(m, f); v.Kind != want || v.Action != Ask {
			t.Errorf("%s: %+v", kind, v)
		}
	}
	m, f := direct(member, "hello")
	if v := Decide(m, f); v.Kind != KindDirect {
		t.Errorf("%+v", v)
	}
	if got := FromInfo(chat.Room{Kind: chat.Direct, Usernames: []string{"a", "b", "c"}, UsersCount: 2}, true, true); got.Members != 3 || !got.MayPost || !got.Known {
		t.Errorf("the larger count holds: %+v", got)
	}
}

// An id that is known is the store's to refuse; at the gate a message of less
// than ten seconds' touch and a fresh one are alike, to the millisecond.
func TestTheEdgeOfFresh(t *testing.T) {
	for after, want := range map[time.Duration]string{0: "ASK", 10 * time.Second: "ASK", 10*time.Second + time.Millisecond: "reemit*", -time.Minute: "ASK"} {
		m, f := hello(), facts()
		m.Touched, m.Updated = chat.TouchThread, chat.At(m.Sent.Add(after))
		if got := short(Decide(m, f)); got != want {
			t.Errorf("touched after %v: %s, want %s", after, got, want)
		}
	}
	for age, want := range map[time.Duration]string{10 * time.Minute: "ASK", 10*time.Minute + time.Millisecond: "age*", -time.Hour: "ASK"} {
		m, f := hello(), facts()
		m.Sent = chat.At(noon.Add(-age))
		if got := short(Decide(m, f)); got != want {
			t.Errorf("aged %v: %s, want %s", age, got, want)
		}
	}
}

func TestStepsAreAllThereAndOnce(t *testing.T) {
	seen := map[Step]bool{}
	for _, s := range Steps {
		if s == "" || seen[s] {
			t.Errorf("%q stands twice, or is nothing", s)
		}
		seen[s] = true
	}
	for _, a := range []Action{Ignore, Retry, Ask, Order, Answered, Stranger, Refuse} {
		if a.String() == "unknown" {
			t.Errorf("%d has no name", a)
		}
	}
	if Action(99).String() != "unknown" || AnswerState(99).String() != "unknown" {
		t.Error("what isn't there has a name")
	}
}
