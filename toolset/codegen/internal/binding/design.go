// Package binding declares a Goa service and a toolset whose tools are bound to its methods, with every shape that a binding can convert.
// What is generated stands in gen/; go test ./toolset/codegen -update writes it.
package binding

import (
	. "goa.design/goa/v3/dsl"

	. "toolsvc/toolset/dsl"
)

// GenPackage is the import path of gen/.
const GenPackage = "toolsvc/toolset/codegen/internal/binding/gen"

// Design declares the service and the toolset.
func Design() {
	var SKU = Type("SKU", String, func() { Pattern(`^[A-Z]+$`) })
	var Line = Type("Line", func() {
		Attribute("sku", SKU)
		Attribute("quantity", Int, func() { Default(1) })
		Attribute("note", String)
		Required("sku")
	})
	var Order = Type("Order", func() {
		Attribute("id", String)
		Attribute("status", String, func() { Enum("open", "cancelled") })
		Attribute("lines", ArrayOf(Line))
		Attribute("labels", MapOf(String, String))
		Attribute("total", Float64)
		Attribute("weight", Int32)
		Attribute("paid", Boolean)
		Attribute("signature", Bytes)
		Attribute("extra", Any)
		Attribute("parent", "Order")
		Required("id", "status", "lines", "total")
	})
	var Busy = Type("Busy", func() {
		ErrorName("name", String)
		Attribute("message", String)
		Attribute("seconds", Int)
		Required("name", "seconds")
	})
	var Invalid = Type("Invalid", func() {
		ErrorName("name", String)
		Attribute("text", String)
		Attribute("field", String)
		Required("name", "text")
	})

	Service("orders", func() {
		Error("not_found")
		Error("busy", Busy)
		Method("upsert", func() {
			Payload(func() {
				Attribute("id", String)
				Attribute("status", String, func() { Default("open") })
				Attribute("lines", ArrayOf(Line))
				Attribute("labels", MapOf(String, String))
				Attribute("total", Float64)
				Attribute("weight", Int32)
				Attribute("paid", Boolean)
				Attribute("signature", Bytes)
				Attribute("extra", Any)
				Attribute("key", String)
				Attribute("token", String)
				Required("id", "lines", "total", "token")
			})
			Result(Order)
			Error("invalid", Invalid)
			Error("gone")
		})
		Method("find", func() {
			Payload(func() {
				Attribute("id", String)
				Required("id")
			})
			Result(Order)
		})
		Method("list", func() {
			Result(ArrayOf(Order))
		})
		Method("touch", func() {
			Payload(String)
		})
	})
	Service("stock", func() {
		Method("count", func() {
			Payload(SKU)
			Result(Int)
		})
		Method("state", func() {
			Payload(SKU)
			Result(func() {
				Attribute("count", Int)
				Attribute("places", ArrayOf(String))
				Required("places")
			})
		})
	})

	Toolset("orders", func() {
		Description("Orders.")
		Tool("upsert", "Write an order.", func() {
			Args(func() {
				Attribute("order", String)
				Attribute("status", String)
				Attribute("lines", ArrayOf(Line))
				Attribute("labels", MapOf(String, String))
				Attribute("total", Float64)
				Attribute("weight", Int32)
				Attribute("paid", Boolean)
				Attribute("signature", Bytes)
				Attribute("extra", Any)
				Required("order", "lines", "total")
				Example(Val{"order": "o1", "lines": []Val{{"sku": "A"}}, "total": 1})
			})
			Return(func() {
				Attribute("number", String)
				Attribute("status", String)
				Attribute("lines", ArrayOf(Line))
				Attribute("labels", MapOf(String, String))
				Attribute("total", Float64)
				Attribute("weight", Int)
				Attribute("paid", Boolean, func() { Default(true) })
				Attribute("signature", Bytes)
				Attribute("extra", Any)
				Attribute("parent", Order)
				Required("number", "status", "total")
			})
			Effect(Idempotent)
			Precondition("not_cancelled", `has(state.error) || state.status == "open"`, "the order is open")
			Postcondition("written", `state.total == args.total`, "the order holds the total")
			Bind("orders", "upsert", func() {
				Map("order", "id")
				MapResult("id", "number")
				IdempotencyKey("key")
				Supplied("token")
				Fails("not_found", TargetNotFound, "Look for it first.")
				Fails("gone", PreconditionFailed, "It is cancelled; write another one.")
				Fails("busy", RateLimited, "Wait, then call again.", func() { RetryAfterFrom("seconds") })
				Fails("invalid", InvalidArguments, "Correct it.", func() {
					ArgumentFrom("field")
					MessageFrom("text")
				})
				Observe("find", func() {
					Map("order", "id")
					Absent("not_found")
				})
				Compensate("upsert", func() {
					Map("result.number", "id")
					Map("before.status", "status")
					Map("before.weight", "weight")
					Map("lines", "lines")
					Map("total", "total")
					Supplied("token")
				})
			})
		})
		Tool("list", "List the orders.", func() {
			Return(func() {
				Attribute("orders", ArrayOf(Order))
			})
			Effect(ReadOnly)
			Postcondition("answered", `size(result.orders) >= 0`, "the orders are listed")
			Bind("orders", "list")
		})
		Tool("touch", "Touch an order.", func() {
			Args(func() {
				Attribute("order", String)
				Required("order")
				Example(Val{"order": "o1"})
			})
			Effect(Idempotent)
			Postcondition("there", `state.id == args.order`, "the order is there")
			Bind("orders", "touch", func() { Observe("find", func() { Map("order", "id") }) })
		})
		Tool("settle", "Settle a complaint.", func() {
			Args(func() {
				Attribute("complaint", String)
				Required("complaint")
				Example(Val{"complaint": "It never came."})
			})
			Return(func() {
				Attribute("order", String)
				Required("order")
			})
			Effect(Reversible)
			Postcondition("touched", `state.calls.exists(c, c.tool == "orders.touch" && c.verified)`, "an order was touched")
			Agent("Find the order, then `touch` it.", func() {
				Goal("Settle this: {{args}}")
				Tools("orders.list", "orders.touch")
				MaxCalls(7)
				TokenBudget(5000)
				Attempts(2)
			})
		})
		Tool("look", "Look around.", func() {
			Effect(ReadOnly)
			Postcondition("looked", `size(state.calls) > 0`, "something was looked at")
			Agent("Look at everything.", func() { Tools("orders.*") })
		})
		Tool("count", "Count what is in stock.", func() {
			Args(func() {
				Attribute("sku", SKU)
				Required("sku")
				Example(Val{"sku": "A"})
			})
			Return(func() {
				Attribute("count", Int)
				Required("count")
			})
			Effect(ReadOnly)
			Postcondition("counted", `result.count == state.count`, "it is counted")
			Bind("stock", "count", func() { Observe("state") })
		})
	})
}
