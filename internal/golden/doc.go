// Package golden compares what a test made with a file under its testdata that
// people read and review. It is for tests alone. With -update the file is
// written anew:
//
//	go test ./channel/gate -run Table -update
package golden
