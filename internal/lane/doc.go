// Package lane does things one after another, on a goroutine that exists only
// while there is something to do. A thousand quiet bots have thousands of
// lanes and none of these goroutines.
package lane
