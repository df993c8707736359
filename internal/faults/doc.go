// Package faults shows what callers see while Redis or the way to it is in trouble, and how soon that is over: each
// fault on each client library, and many callers on one key far away.
//
//	make faults
//
// prints the tables; the tests run a short form. A [Link] is the way to a server, which can be slow and can break, and
// a [Library] makes backends on one client library.
package faults
