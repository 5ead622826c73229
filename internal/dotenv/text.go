package dotenv

import (
	"bytes"
	"encoding/binary"
	"errors"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// ErrEncoding is returned for a file that Hermes can't read as text and takes
// for empty: UTF-32, broken UTF-16, or bytes that are not UTF-8.
var ErrEncoding = errors.New("not text that Hermes reads: want UTF-8")

// An encoding is how a file's text lies in its bytes.
type encoding struct {
	bom   string
	order byteOrder // of UTF-16; nil for UTF-8
}

var (
	plainUTF8 = encoding{}
	bomUTF8   = encoding{bom: "\xef\xbb\xbf"}
	utf16LE   = encoding{bom: "\xff\xfe", order: binary.LittleEndian}
	utf16BE   = encoding{bom: "\xfe\xff", order: binary.BigEndian}
)

// decode finds out the encoding by the first bytes. UTF-32 comes first: its
// little-endian mark begins as that of UTF-16.
func decode(data []byte) (string, encoding, error) {
	if bytes.HasPrefix(data, []byte("\xff\xfe\x00\x00")) || bytes.HasPrefix(data, []byte("\x00\x00\xfe\xff")) {
		return "", plainUTF8, ErrEncoding
	}
	for _, e := range []encoding{utf16LE, utf16BE} {
		if rest, ok := bytes.CutPrefix(data, []byte(e.bom)); ok {
			text, err := decodeUTF16(rest, e.order)
			return text, e, err
		}
	}
	e := plainUTF8
	if rest, ok := bytes.CutPrefix(data, []byte(bomUTF8.bom)); ok {
		data, e = rest, bomUTF8
	}
	if !utf8.Valid(data) {
		return "", e, ErrEncoding
	}
	return string(data), e, nil
}

func decodeUTF16(data []byte, order byteOrder) (string, error) {
	if len(data)%2 != 0 {
		return "", ErrEncoding
	}
	var out []byte
	for i := 0; i < len(data); i += 2 {
		c := rune(order.Uint16(data[i:]))
		if utf16.IsSurrogate(c) {
			if i += 2; i >= len(data) {
				return "", ErrEncoding
			}
			if c = utf16.DecodeRune(c, rune(order.Uint16(data[i:]))); c == unicode.ReplacementChar {
				return "", ErrEncoding
			}
		}
		out = utf8.AppendRune(out, c)
	}
	return string(out), nil
}

// encode is decode's opposite.
func (e encoding) encode(text string) []byte {
	out := []byte(e.bom)
	if e.order == nil {
		return append(out, text...)
	}
	for _, u := range utf16.Encode([]rune(text)) {
		out = e.order.AppendUint16(out, u)
	}
	return out
}

// latin1 reads any bytes at all; the ASCII in them stays what it is.
func latin1(data []byte) string {
	runes := make([]rune, len(data))
	for i, b := range data {
		runes[i] = rune(b)
	}
	return string(runes)
}

// lines splits as Python's str.splitlines does, each with its end.
func lines(text string) []string {
	var out []string
	start := 0
	for i, c := range text {
		if i < start || !endsLine(c) {
			continue
		}
		end := i + utf8.RuneLen(c)
		if c == '\r' && end < len(text) && text[end] == '\n' {
			end++
		}
		out = append(out, text[start:end])
		start = end
	}
	if start < len(text) {
		out = append(out, text[start:])
	}
	return out
}

func endsLine(c rune) bool {
	switch c {
	case '\n', '\r', '\v', '\f', 0x1c, 0x1d, 0x1e, 0x85, 0x2028, 0x2029:
		return true
	}
	return false
}

// isSpace is Python's str.isspace for one character: Go's, and four
// separators that Unicode does not call white space.
func isSpace(c rune) bool { return unicode.IsSpace(c) || c >= 0x1c && c <= 0x1f }

type byteOrder interface {
	binary.ByteOrder
	binary.AppendByteOrder
}
