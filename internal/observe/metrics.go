package observe

import (
	"maps"
	"net/http"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"rcsupervisor/channel"
	"rcsupervisor/healthcheck"
	"rcsupervisor/internal/supervisor"
)

// Metrics is the page of metrics, from a registry of its own. Each profile is
// a label; its counters begin anew with each of its runs, which Prometheus
// expects of counters.
func Metrics(s *supervisor.Supervisor) http.Handler {
	r := prometheus.NewRegistry()
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), &collector{super: s})
	return promhttp.HandlerFor(r, promhttp.HandlerOpts{})
}

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("rcsupervisor_"+name, help, labels, nil)
}

var (
	buildInfo  = desc("build_info", "The build that runs; always 1.", "version", "isolation")
	profiles   = desc("profiles", "Profiles in each state.", "state")
	unnamed    = desc("unnamed_homes", "Homes that take part and have no name of their own.")
	reloadOK   = desc("reload_success", "Whether all that the last reload found can be used.")
	reloadAt   = desc("reload_timestamp_seconds", "When files were last found to be others than before.")
	polling    = desc("polling", "Whether files are watched by polling, without inotify.")
	online     = desc("profile_online", "Whether the profile hears messages.", "profile")
	state      = desc("profile_state", "The profile's state and why; always 1.", "profile", "state", "reason")
	flapping   = desc("profile_flapping", "Whether the profile keeps failing and is tried seldom.", "profile")
	restarts   = desc("profile_restarts_total", "Connections and workers made again of themselves.", "profile")
	frameAge   = desc("profile_last_frame_age_seconds", "How long ago the last frame came.", "profile")
	pending    = desc("profile_pending", "Changes that wait for a person.", "profile")
	warnings   = desc("profile_warning", "A warning that is given; always 1.", "profile", "code")
	agentState = desc("profile_agent_state", "The state of the profile's agent; always 1.", "profile", "kind", "state")
	ignored    = desc("messages_ignored_total", "Messages that went no further than a step of the gate.", "profile", "step")
)

// counted are the counters of a channel, each with its metric.
var counted = []struct {
	desc *prometheus.Desc
	get  func(channel.Counters) uint64
}{
	{desc("messages_received_total", "Messages heard.", "profile"), func(c channel.Counters) uint64 { return c.Received }},
	{desc("questions_claimed_total", "Questions taken in.", "profile"), func(c channel.Counters) uint64 { return c.Claimed }},
	{desc("questions_answered_total", "Questions whose answer is in its room.", "profile"), func(c channel.Counters) uint64 { return c.Answered }},
	{desc("questions_interrupted_total", "Turns that an end of the worker interrupted.", "profile"), func(c channel.Counters) uint64 { return c.Interrupted }},
	{desc("questions_duplicate_total", "Messages heard again.", "profile"), func(c channel.Counters) uint64 { return c.Duplicates }},
	{desc("messages_caught_up_total", "Missed messages that were caught up.", "profile"), func(c channel.Counters) uint64 { return c.CaughtUp }},
	{desc("messages_missed_total", "Missed messages beyond the bounds of catching up.", "profile"), func(c channel.Counters) uint64 { return c.Missed }},
	{desc("answers_late_total", "Parts of answers given up as too late.", "profile"), func(c channel.Counters) uint64 { return c.Late }},
	{desc("answers_misrouted_total", "Parts that a server put into another room.", "profile"), func(c channel.Counters) uint64 { return c.Misrouted }},
	{desc("answers_prevented_total", "Parts that a server did not let into their room.", "profile"), func(c channel.Counters) uint64 { return c.Prevented }},
	{desc("answers_failed_total", "Parts that could not be posted.", "profile"), func(c channel.Counters) uint64 { return c.Failed }},
}

// A collector makes metrics of the status at the moment it is asked.
type collector struct{ super *supervisor.Supervisor }

var _ prometheus.Collector = (*collector)(nil)

func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		buildInfo, profiles, unnamed, reloadOK, reloadAt, polling, online, state, flapping, restarts, frameAge, pending, warnings, agentState, ignored,
	} {
		ch <- d
	}
	for _, m := range counted {
		ch <- m.desc
	}
}

func (c *collector) Collect(ch chan<- prometheus.Metric) {
	st, _ := c.super.Status(supervisor.Everybody)
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	s := st.Supervisor
	gauge(buildInfo, 1, s.Version, s.Isolation)
	gauge(unnamed, float64(len(s.Unnamed)))
	gauge(polling, flag(s.Inotify != "ok"))
	gauge(reloadOK, flag(s.Reload.OK))
	if s.Reload.At != nil {
		gauge(reloadAt, float64(s.Reload.At.UnixMilli())/1000)
	}
	states := make(map[healthcheck.State]int)
	for _, p := range st.Profiles {
		states[p.State]++
		ofProfile(p, ch)
	}
	for _, name := range healthcheck.States() {
		gauge(profiles, float64(states[name]), string(name))
	}
}

// ofProfile makes the metrics of one profile.
func ofProfile(p supervisor.ProfileStatus, ch chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, append([]string{p.Name}, labels...)...)
	}
	count := func(d *prometheus.Desc, v uint64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), append([]string{p.Name}, labels...)...)
	}
	gauge(online, flag(p.State == healthcheck.Online))
	gauge(state, 1, string(p.State), value(p.Reason))
	gauge(flapping, flag(p.Flapping))
	gauge(pending, float64(len(p.Pending)))
	count(restarts, p.Restarts)
	if p.LastFrameAge != nil {
		gauge(frameAge, *p.LastFrameAge)
	}
	if p.Agent.State != nil {
		gauge(agentState, 1, value(p.Agent.Kind), *p.Agent.State)
	}
	seen := make(map[string]bool, len(p.Warnings))
	for _, w := range p.Warnings {
		if !seen[w.Code] {
			seen[w.Code] = true
			gauge(warnings, 1, w.Code)
		}
	}
	for _, step := range slices.Sorted(maps.Keys(p.Counters.Ignored)) {
		count(ignored, p.Counters.Ignored[step], step)
	}
	for _, m := range counted {
		count(m.desc, m.get(p.Counters))
	}
}

func flag(on bool) float64 {
	if on {
		return 1
	}
	return 0
}

func value(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
