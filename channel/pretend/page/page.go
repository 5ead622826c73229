package page

import (
	"embed"
	"net/http"
)

//go:embed index.html page.css page.js list.js wire.js markdown.js
var files embed.FS

// Handler serves the page and what belongs to it, from the root of its own
// path: the caller strips what stands before. Everything the page loads comes
// from here.
func Handler() http.Handler {
	serve := http.FileServerFS(files)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'self'; img-src 'self' data:; connect-src 'self' ws: wss:")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-cache")
		serve.ServeHTTP(w, r)
	})
}
