package enroll

import (
	"strings"
	"testing"

	"rcsupervisor/sealed"
)

const (
	someID    = "rbAXPnMktTFbNpwtJ"
	someToken = "RScctEHSmLGZGywfIhWyRpyofhKOiMoUIpimhvheU3f"
)

func TestFind(t *testing.T) {
	for _, c := range []struct{ what, text, id, token string }{
		{"nothing", "", "", ""},
		{"words", "please give me a token", "", ""},
		{"a token", someToken, "", someToken},
		{"an id", someID, someID, ""},
		{"both in a line", someID + " " + someToken, someID, someToken},
		{"the other way round", someToken + " " + someID, someID, someToken},
		{"the dialog", "Please save your token carefully as you will no longer be able to view it afterwards.\nToken: " + someToken + "\nYour user Id: " + someID, someID, someToken},
		{"the dialog of 3.4, in HTML", "Token: <strong>" + someToken + "</strong><br>Your user Id: <strong>" + someID + "</strong>", someID, someToken},
		{"headers", "X-Auth-Token: " + someToken + "\nX-User-Id: " + someID + "\n", someID, someToken},
		{"JSON", `{"userId":"` + someID + `","authToken":"` + someToken + `"}`, someID, someToken},
		{"quoted, with a comma", `'` + someID + `', '` + someToken + `'`, someID, someToken},
		{"Windows' line ends", "Token: " + someToken + "\r\nYour user Id: " + someID + "\r\n", someID, someToken},
		{"no-break spaces", "Token:\u00a0" + someToken + "\u00a0" + someID, someID, someToken},
		{"a token with dashes", strings.Repeat("a-_", 14) + "b", "", strings.Repeat("a-_", 14) + "b"},
		{"one character too long", someToken + "x", "", ""},
		{"one too short", someToken[:42], "", ""},
		{"an id in a longer word", "x" + someID, "", ""},
		{"a sentence's end", "it is " + someID + ".", someID, ""},
	} {
		if got := Find(c.text); got.UserID != c.id || got.Token != c.token {
			t.Errorf("%s: id %v, token %v", c.what, got.UserID == c.id, got.Token == c.token)
		}
	}
	if !LooksLikeToken(someToken) || LooksLikeToken(someID) || LooksLikeID(someToken) || !LooksLikeID(someID) || LooksLikeID("x "+someID) {
		t.Error("the two are told apart")
	}
}

// What is found is a part of what was pasted, of the right shape, and the two
// never overlap.
func FuzzFind(f *testing.F) {
	for _, s := range []string{"", someID, someToken, someToken + someID, "Token: " + someToken + "\nYour user Id: " + someID, "\xff" + someID + "\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p := Find(text)
		if p.Token != "" && (len(p.Token) != 43 || !strings.Contains(text, p.Token)) {
			t.Errorf("a token of %d characters", len(p.Token))
		}
		if p.UserID != "" && (len(p.UserID) != 17 || !strings.Contains(text, p.UserID)) {
			t.Errorf("an id of %d characters", len(p.UserID))
		}
		if p.UserID != "" && p.Token != "" && strings.Contains(p.Token, p.UserID) && strings.Count(text, p.UserID) == 1 {
			t.Error("the id is a part of the token")
		}
		// A fault in its shape never quotes what was given.
		err := (Bot{UserID: text, Token: sealed.NewSecret(text)}).Shape()
		if err != nil && len(text) >= 17 && strings.Contains(err.Error(), text) {
			t.Error("a field is repeated")
		}
	})
}
