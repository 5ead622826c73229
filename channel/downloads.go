package channel

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"rcsupervisor/channel/agent"
	"rcsupervisor/channel/chat"
	"rcsupervisor/channel/prompt"
	"rcsupervisor/channel/rest"
)

// Bounds of what comes with one question.
const (
	maxDownloads  = 10
	downloadTries = 3
	maxDocument   = 64 << 10 // bytes of a text that is put into the prompt
	sniffed       = 512
	// sizeSlack is what a file may be larger by than a server said: some turn
	// pictures after they measured them.
	sizeSlack = 64 << 10
)

// attached returns the files that came with a message. Servers list the small
// picture that they make of a large one too.
func attached(m *chat.Message) []chat.File {
	all := m.Files
	if len(all) == 0 && m.File != (chat.File{}) {
		all = []chat.File{m.File}
	}
	var own []chat.File
	for _, f := range all {
		if len(all) > 1 && strings.HasPrefix(f.Name, "thumb-") && f.ID != m.File.ID {
			continue
		}
		own = append(own, f)
	}
	return own
}

// fetch downloads what came with a question, for as long as its turn runs. What
// can't be had is named with the reason.
func (l *life) fetch(ctx context.Context, m *chat.Message) (given []agent.File, shown []prompt.File) {
	for i, f := range attached(m) {
		p := prompt.File{Name: f.Name, Type: f.Type, Size: f.Size}
		switch got, err := l.download(ctx, m.ID, i, f); {
		case err == nil:
			p.Path, p.Size, p.Type = got.Path, got.Size, got.Type
			p.Document = document(got)
			given = append(given, got)
		default:
			p.Problem = problemOf(err)
			l.log.Info("a file of a question is not available", "message", m.ID, "err", err)
		}
		shown = append(shown, p)
	}
	return given, shown
}

var (
	errManyFiles = errors.New("more files than are taken from one message")
	errBigFile   = errors.New("larger than limits.file_bytes")
)

// problemOf is why a file is not there, in a few words.
func problemOf(err error) string {
	switch {
	case errors.Is(err, errManyFiles):
		return "too many files in one message"
	case errors.Is(err, errBigFile), errors.Is(err, rest.ErrTooLarge):
		return "too large"
	case errors.Is(err, errNoSpace):
		return "too many files at one time"
	case errors.Is(err, rest.ErrRedirected):
		return "the server keeps it elsewhere"
	case errors.Is(err, rest.ErrNotFound), errors.Is(err, rest.ErrForbidden), errors.Is(err, rest.ErrInvalid):
		return "the server does not give it"
	}
	return "it could not be read"
}

// download brings one file below the state directory. Its name there is ours.
func (l *life) download(ctx context.Context, question string, i int, f chat.File) (agent.File, error) {
	limit := l.files.limits().FileBytes
	switch {
	case i >= maxDownloads:
		return agent.File{}, errManyFiles
	case f.Size > limit:
		return agent.File{}, errBigFile
	case f.Size > 0:
		limit = min(limit, 2*f.Size+sizeSlack)
	}
	folder := path.Join(downloadsName, folderOf(question))
	if err := l.files.reserve(folder, limit); err != nil {
		return agent.File{}, err
	}
	name := strconv.Itoa(i+1) + extension(f.Name)
	size, err := l.bring(ctx, f, folder, name, limit)
	_ = l.files.reserve(folder, size-limit)
	if err != nil {
		return agent.File{}, err
	}
	got := agent.File{Name: f.Name, Path: filepath.Join(stateDir(l.files.home), folder, name), Type: f.Type, Size: size}
	if strings.HasPrefix(got.Type, "image/") {
		got.Type = sniff(got)
	}
	return got, nil
}

// bring reads a file's content, again when the server was not available.
func (l *life) bring(ctx context.Context, f chat.File, folder, name string, limit int64) (int64, error) {
	to, err := l.files.create(folder, name)
	if err != nil {
		return 0, err
	}
	defer to.Close()
	for try := 1; ; try++ {
		size, err := l.content(ctx, f, to, limit)
		passing := errors.Is(err, rest.ErrUnavailable) || errors.Is(err, rest.ErrRateLimited)
		if err == nil || !passing || try == downloadTries || !pause(ctx, max(askAgain(try-1), l.asked(err))) {
			return size, err
		}
		if err := errors.Join(to.Truncate(0), rewind(to)); err != nil {
			return 0, err
		}
	}
}

func rewind(f io.Seeker) error {
	_, err := f.Seek(0, io.SeekStart)
	return err
}

func (l *life) content(ctx context.Context, f chat.File, to io.Writer, limit int64) (int64, error) {
	in, err := l.client.Load().Download(ctx, "/"+rest.RouteFile+"/"+url.PathEscape(f.ID)+"/"+url.PathEscape(f.Name), limit)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	return io.Copy(to, in)
}

var plainExtension = regexp.MustCompile(`^\.[a-z0-9]{1,8}$`)

// extension is a name's, where it is a usual one.
func extension(name string) string {
	if ext := strings.ToLower(path.Ext(name)); plainExtension.MatchString(ext) {
		return ext
	}
	return ""
}

// sniff is what an image really is: agents refuse one that is called otherwise.
func sniff(f agent.File) string {
	head, err := read(f.Path, sniffed)
	if err != nil {
		return f.Type
	}
	return http.DetectContentType(head)
}

// document is the text of a file that is one, and short enough to be shown whole.
func document(f agent.File) string {
	if f.Size > maxDocument || !textual(f.Type) {
		return ""
	}
	data, err := read(f.Path, maxDocument)
	if err != nil || !utf8.Valid(data) || strings.ContainsRune(string(data), 0) {
		return ""
	}
	return string(data)
}

// textual reports whether a media type is one of text.
func textual(kind string) bool {
	kind, _, _ = strings.Cut(kind, ";")
	switch kind = strings.ToLower(strings.TrimSpace(kind)); kind {
	case "application/json", "application/xml", "application/yaml", "application/x-yaml", "application/toml",
		"application/javascript", "application/x-sh", "application/sql":
		return true
	}
	return strings.HasPrefix(kind, "text/") || strings.HasSuffix(kind, "+json") || strings.HasSuffix(kind, "+xml") && kind != "image/svg+xml"
}

func read(name string, limit int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, limit))
}
