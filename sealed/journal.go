package sealed

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"rcsupervisor/internal/atomicfile"
)

// JournalName is the file, in the supervisor's state directory, that a reseal
// of many profiles is written down in before the first of them is touched.
const JournalName = "reseal.journal"

// maxJournal bounds what is read back: ten thousand profiles take 60 MB.
const maxJournal = 1 << 30

// The journal is lines of JSON: a head, one entry a profile, and an end with
// the sum of all before it. It holds what is sealed, before and after, and no
// secret in plain text.
type (
	journalHead struct {
		V       int       `json:"v"`
		Begun   time.Time `json:"begun"`
		Entries int       `json:"entries"`
	}
	journalEntry struct {
		Home    string `json:"home"` // [Home.Key]
		Profile string `json:"profile"`
		Old     []byte `json:"old"`
		New     []byte `json:"new"`
	}
	journalEnd struct {
		Sum string `json:"sum"`
	}
)

// writeJournal is the moment a reseal begins to hold: before it nothing has
// changed, after it [Resume] brings it to an end.
func writeJournal(root *os.Root, entries []journalEntry) error {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	if err := enc.Encode(journalHead{V: version, Begun: now(), Entries: len(entries)}); err != nil {
		return err
	}
	for _, e := range entries {
		if err := enc.Encode(e); err != nil {
			return err
		}
	}
	sum := sha256.Sum256(buf.Bytes())
	if err := enc.Encode(journalEnd{Sum: hex.EncodeToString(sum[:])}); err != nil {
		return err
	}
	err := atomicfile.Create(root, JournalName, buf.Bytes(), 0o600, nil)
	if errors.Is(err, fs.ErrExist) {
		return unfinished()
	}
	return err
}

func unfinished() error {
	return &Error{Kind: ErrUnfinished, Text: "a reseal was interrupted before its end", Try: "rcsupervisor reseal --all, which ends it first"}
}

// Unfinished reports whether a reseal was interrupted and [Resume] is due.
func Unfinished(journal *os.Root) (bool, error) {
	_, err := journal.Lstat(JournalName)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// readJournal returns the entries, none when there is no journal.
func readJournal(root *os.Root) ([]journalEntry, error) {
	data, err := atomicfile.Read(root, JournalName, maxJournal)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	entries, err := parseJournal(data)
	if err != nil {
		return nil, &Error{
			Kind: ErrDamaged, Text: fmt.Sprintf("%s/%s is damaged (%v); every envelope is whole, and sealed for the old or the new recipients", root.Name(), JournalName, err),
			Try: "remove the file, then rcsupervisor reseal --all",
		}
	}
	return entries, nil
}

func parseJournal(data []byte) ([]journalEntry, error) {
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 4*MaxFile)
	var head journalHead
	if !lines.Scan() || json.Unmarshal(lines.Bytes(), &head) != nil {
		return nil, errors.New("no head")
	}
	if head.V != version {
		return nil, errors.New("of another version")
	}
	sum := sha256.New()
	add := func() { sum.Write(lines.Bytes()); sum.Write([]byte{'\n'}) }
	add()
	var entries []journalEntry
	for range head.Entries {
		var e journalEntry
		if !lines.Scan() || json.Unmarshal(lines.Bytes(), &e) != nil {
			return nil, fmt.Errorf("entry %d is no entry", len(entries)+1)
		}
		add()
		entries = append(entries, e)
	}
	var end journalEnd
	if !lines.Scan() || json.Unmarshal(lines.Bytes(), &end) != nil || end.Sum != hex.EncodeToString(sum.Sum(nil)) {
		return nil, errors.New("its sum is another")
	}
	if lines.Scan() {
		return nil, errors.New("something follows its end")
	}
	return entries, nil
}

// removeJournal ends a reseal. Should a power cut bring the journal back, there
// is nothing left to do in it.
func removeJournal(root *os.Root) error {
	err := root.Remove(JournalName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
