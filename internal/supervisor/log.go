package supervisor

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"time"

	"rcsupervisor/channel"
	"rcsupervisor/healthcheck"
)

// logState writes a line about a state that has just begun: into the profile's
// log, and into ours.
func (k *keeper) logState() {
	h := k.history
	level := slog.LevelInfo
	switch h.State {
	case healthcheck.Backoff, healthcheck.NeedsToken, healthcheck.NeedsConfig, healthcheck.Held:
		level = slog.LevelWarn
	}
	attrs := []slog.Attr{slog.String("profile", k.name), slog.String("state", string(h.State))}
	if h.Reason != "" {
		attrs = append(attrs, slog.String("reason", string(h.Reason)))
	}
	if h.Error != "" {
		attrs = append(attrs, slog.String("error", h.Error))
	}
	k.config.Log.LogAttrs(context.Background(), level, string(h.State), attrs...)
	own := make(map[string]string, len(attrs))
	for _, a := range attrs[1:] {
		own[a.Key] = a.Value.String()
	}
	k.ring.add(channel.Record{Time: time.Now(), Level: int(level), Message: string(h.State), Attrs: own})
}

// logged passes a line of the channel on to our own log.
func (k *keeper) logged(l Line) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(l.Level)); err != nil || !k.config.Log.Enabled(context.Background(), level) {
		return
	}
	attrs := []slog.Attr{slog.String("profile", k.name)}
	for _, key := range slices.Sorted(maps.Keys(l.Attrs)) {
		attrs = append(attrs, slog.String(key, l.Attrs[key]))
	}
	k.config.Log.LogAttrs(context.Background(), level, l.Text, attrs...)
}
