package rest

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// BenchmarkSend is one post over TLS on the loopback, all of it: budget, hold,
// request, bounded read, meaning and decoding.
func BenchmarkSend(b *testing.B) {
	server := secure(b, sentOK)
	server.answer = func(w http.ResponseWriter, r *http.Request) { server.forget(); sentOK(w, r) }
	c := server.client(b, nil)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.SendMessage(b.Context(), Outgoing{ID: "m1", Room: "r1", Text: "hello"}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSendBare is the baseline: the same post with net/http alone, its
// body read and decoded into a map.
func BenchmarkSendBare(b *testing.B) {
	server := secure(b, sentOK)
	server.answer = func(w http.ResponseWriter, r *http.Request) { server.forget(); sentOK(w, r) }
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(server.ca)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	defer client.CloseIdleConnections()
	b.ReportAllocs()
	for b.Loop() {
		body, _ := json.Marshal(map[string]any{"message": map[string]string{"_id": "m1", "rid": "r1", "msg": "hello"}, "previewUrls": []string{}})
		req, err := http.NewRequestWithContext(b.Context(), http.MethodPost, server.url+"/api/v1/chat.sendMessage", bytes.NewReader(body))
		if err != nil {
			b.Fatal(err)
		}
		req.Header.Set("Content-Type", asJSON)
		req.Header.Set("X-User-Id", testUser)
		req.Header.Set("X-Auth-Token", testToken)
		resp, err := client.Do(req)
		if err != nil {
			b.Fatal(err)
		}
		answer, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		var out map[string]any
		if err != nil || json.Unmarshal(answer, &out) != nil {
			b.Fatal(err)
		}
	}
}

func (b *backend) forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked = nil
}

// BenchmarkPage reads a full page of history; BenchmarkPageBare is encoding/json
// alone, into maps.
func BenchmarkPage(b *testing.B) {
	body := fullPage()
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if p, ok := parsePage(body); !ok || len(p.messages) != maxCount {
			b.Fatal("not read")
		}
	}
}

func BenchmarkPageBare(b *testing.B) {
	body := fullPage()
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		var out map[string]any
		if json.Unmarshal(body, &out) != nil {
			b.Fatal("not read")
		}
	}
}

func fullPage() []byte {
	var list []string
	for i := range maxCount {
		list = append(list, fmt.Sprintf(`{"_id":"m%017d","rid":"GENERAL","msg":"%s","ts":"2026-11-30T12:00:%02d.000Z","u":{"_id":"u","username":"alice","name":"Alice"},
			"mentions":[{"_id":"b","username":"hermes"}],"channels":[],"urls":[],"md":[{"type":"PARAGRAPH","value":[{"type":"PLAIN_TEXT","value":"%s"}]}],"_updatedAt":"2026-11-30T12:00:00.000Z"}`,
			i, strings.Repeat("word ", 40), i%60, strings.Repeat("word ", 40)))
	}
	return []byte(`{"messages":[` + strings.Join(list, ",") + `],"success":true}`)
}
