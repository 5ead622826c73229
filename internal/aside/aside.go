package aside

// Do calls f on a goroutine of its own, and waits for it. What f needs of a
// stack the caller's doesn't keep. A panic of f comes out of Do.
func Do(f func()) {
	done := make(chan any)
	go func() {
		defer func() { done <- recover() }()
		f()
	}()
	if p := <-done; p != nil {
		panic(p)
	}
}
