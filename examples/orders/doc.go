// Package orders is an example: a small Goa service that keeps the orders of a record shop, over HTTP and gRPC, in SQLite or PostgreSQL,
// and whose operations are tools of toolsvc. docs/tutorial.md builds a smaller one step by step.
//
// The design (design/) declares the service and the tools; gen/ is generated from it; [Service] is written by hand. cmd/orders runs the
// service, and a toolsvc that serves its tools.
package orders

//go:generate go run goa.design/goa/v3/cmd/goa gen toolsvc/examples/orders/design
