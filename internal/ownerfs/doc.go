// Package ownerfs enters a tenant's folder as its owner.
package ownerfs
