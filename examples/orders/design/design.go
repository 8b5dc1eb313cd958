// Package design declares the service of the orders example, and the tools that its operations become. It holds declarations only;
// go generate ./examples/orders turns it into examples/orders/gen.
package design

import (
	. "goa.design/goa/v3/dsl"
)

var _ = API("orders", func() {
	Title("Orders of a record shop")
	Meta("openapi:example", "false")
	Meta("protoc:cmd", "go", "tool", "protolite") // no protoc on the user's machine
	Server("orders", func() {
		Services("orders")
		Host("localhost", func() {
			URI("http://127.0.0.1:7080")
			URI("grpc://127.0.0.1:7081")
		})
	})
})

// Line is one item of an order; the service and the tools share it.
var Line = Type("Line", func() {
	Description("One item of an order.")
	Field(1, "sku", String, "Article number", func() {
		Pattern(`^[A-Z]{3}-[0-9]{4}$`)
		Example("LPV-0001")
	})
	Field(2, "quantity", Int, "How many", func() {
		Minimum(1)
		Maximum(99)
		Default(1)
	})
	Field(3, "cents", Int64, "Price of one, in cents", func() {
		Minimum(0)
		Maximum(1000000)
	})
	Required("sku", "cents")
})

// Order is what the service keeps.
var Order = Type("Order", func() {
	Description("An order.")
	orderID(1, "id")
	Field(2, "customer", String, "Who ordered", func() { MaxLength(200) })
	Field(3, "lines", ArrayOf(Line), "What was ordered")
	Field(4, "total_cents", Int64, "What it costs")
	Field(5, "refunded_cents", Int64, "What was paid back of it")
	Field(6, "status", String, "Where it stands", func() { Enum("open", "cancelled") })
	Field(7, "note", String, "A remark", func() { MaxLength(1000) })
	Required("id", "customer", "lines", "total_cents", "refunded_cents", "status")
})

// Receipt tells of money that was paid back.
var Receipt = Type("Receipt", func() {
	Description("Money that was paid back.")
	Field(1, "number", String, "Number of the refund", func() { Pattern(`^R-[0-9]+$`) })
	orderID(2, "order")
	Field(3, "cents", Int64, "How much")
	Field(4, "reason", String, "Why")
	Required("number", "order", "cents", "reason")
})

// Rejected is the error of a request that a rule of the shop rejects.
var Rejected = Type("Rejected", func() {
	ErrorName(1, "name", String)
	Field(2, "message", String, "What is wrong")
	Field(3, "field", String, "The attribute that is wrong")
	Required("name", "message", "field")
})

// Busy is the error of a service that has too much to do.
var Busy = Type("Busy", func() {
	ErrorName(1, "name", String)
	Field(2, "message", String, "What is going on")
	Field(3, "seconds", Int, "How long to wait")
	Required("name", "message", "seconds")
})

func orderID(tag int, name string) {
	Field(tag, name, String, "Order number", func() {
		Pattern(`^H-[0-9]{1,9}$`)
		Example("H-1024")
	})
}

func key(tag int) {
	Field(tag, "key", String, "Idempotency key: the same request again has the same answer and no other effect", func() {
		MinLength(1)
		MaxLength(100)
	})
}

var _ = Service("orders", func() {
	Description("Keeps the orders of the shop.")

	Error("not_found", func() { Description("There is no such order, or refund.") })
	Error("closed", func() { Description("The order is cancelled, or was paid back in part.") })
	Error("rejected", Rejected, "A rule of the shop rejects the request.")
	Error("busy", Busy, "Too many refunds at once.")
	HTTP(func() {
		Path("/orders")
		Response("not_found", StatusNotFound)
		Response("closed", StatusConflict)
		Response("rejected", StatusUnprocessableEntity)
		Response("busy", StatusTooManyRequests, func() { Header("seconds:Retry-After") })
	})
	GRPC(func() {
		Response("not_found", CodeNotFound)
		Response("closed", CodeFailedPrecondition)
		Response("rejected", CodeInvalidArgument)
		Response("busy", CodeResourceExhausted)
	})

	Method("upsert", func() {
		Description("Write an order: make it, or replace what it holds.")
		Payload(func() {
			orderID(1, "id")
			Field(2, "customer", String, func() { MaxLength(200) })
			Field(3, "lines", ArrayOf(Line), func() {
				MinLength(1)
				MaxLength(50)
			})
			Field(4, "note", String, func() { MaxLength(1000) })
			Required("id", "customer", "lines")
		})
		Result(Order)
		HTTP(func() { PUT("/{id}") })
		GRPC(func() {})
	})

	Method("find", func() {
		Description("Find an order.")
		Payload(func() {
			orderID(1, "id")
			Required("id")
		})
		Result(Order)
		HTTP(func() { GET("/{id}") })
		GRPC(func() {})
	})

	Method("cancel", func() {
		Description("Cancel an open order.")
		Payload(func() {
			orderID(1, "id")
			Required("id")
		})
		Result(Order)
		HTTP(func() { POST("/{id}/cancel") })
		GRPC(func() {})
	})

	Method("reopen", func() {
		Description("Open a cancelled order again.")
		Payload(func() {
			orderID(1, "id")
			Required("id")
		})
		Result(Order)
		HTTP(func() { POST("/{id}/reopen") })
		GRPC(func() {})
	})

	Method("refund", func() {
		Description("Pay back some of an order. The money is sent at once.")
		Payload(func() {
			orderID(1, "id")
			Field(2, "cents", Int64, func() { Minimum(1) })
			Field(3, "reason", String, func() { MaxLength(200) })
			key(4)
			Required("id", "cents", "reason", "key")
		})
		Result(Receipt)
		HTTP(func() {
			POST("/{id}/refunds")
			Header("key:Idempotency-Key")
		})
		GRPC(func() {})
	})

	Method("find_refund", func() {
		Description("Find a refund by the key that it was asked for with.")
		Payload(func() {
			key(1)
			Required("key")
		})
		Result(Receipt)
		HTTP(func() {
			GET("/refunds/by-key")
			Header("key:Idempotency-Key")
		})
		GRPC(func() {})
	})
})
