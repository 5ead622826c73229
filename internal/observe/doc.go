// Package observe tells machines how a supervisor is: Prometheus by metrics,
// systemd by its notify socket, and whoever probes by two plain answers.
//
// It only looks: all it says is of [rcsupervisor/internal/supervisor]'s status.
// The verb run starts it, and serves its pages on the control socket for root
// and the supervisor's user.
package observe
