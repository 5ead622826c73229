//go:build !race

package worker

const roomy = 300 << 20
