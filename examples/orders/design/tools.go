package design

import (
	. "goa.design/goa/v3/dsl"

	. "toolsvc/toolset/dsl"
)

var _ = Toolset("orders", func() {
	Description("Orders of the record shop.")

	Tool("upsert", "Write an order: make it, or replace what it holds.", func() {
		Args(func() {
			order()
			Attribute("customer", String, "Who orders", func() {
				MinLength(1)
				MaxLength(200)
			})
			Attribute("lines", ArrayOf(Line), "What is ordered", func() {
				MinLength(1)
				MaxLength(50)
			})
			Attribute("note", String, "A remark", func() { MaxLength(1000) })
			Required("order", "customer", "lines")
			Example(Val{"order": "H-1024", "customer": "Ada", "lines": []Val{{"sku": "LPV-0001", "quantity": 1, "cents": 2400}}})
		})
		Return(func() {
			Attribute("total_cents", Int64, "What it costs")
			Required("total_cents")
		})
		Effect(Idempotent)
		Precondition("not_closed", `has(state.error) || state.status == "open"`, "the order is new or open")
		Postcondition("written", `state.customer == args.customer && size(state.lines) == size(args.lines)`, "the order holds what was sent")
		Postcondition("priced", `state.total_cents == result.total_cents`, "the order costs what was answered")
		Ask("Which items are ordered, by whom, and under which order number?")
		Bind("orders", "upsert", func() {
			Map("order", "id")
			Fails("closed", PreconditionFailed, "Write a new order under another number.")
			Fails("rejected", InvalidArguments, "Order less, or in several orders.", func() { ArgumentFrom("field") })
			seen()
		})
	})

	Tool("find", "Find an order by its number.", func() {
		Args(func() {
			order()
			Required("order")
			Example(Val{"order": "H-1024"})
		})
		Return(func() {
			Attribute("customer", String, "Who ordered")
			Attribute("lines", ArrayOf(Line), "What was ordered")
			Attribute("total_cents", Int64, "What it costs")
			Attribute("refunded_cents", Int64, "What was paid back of it")
			Attribute("status", String, "open or cancelled")
			Attribute("note", String, "A remark")
			Required("customer", "lines", "total_cents", "refunded_cents", "status")
		})
		Effect(ReadOnly)
		Postcondition("found", `result.total_cents >= result.refunded_cents`, "an order was found")
		Bind("orders", "find", func() {
			Map("order", "id")
			Fails("not_found", TargetNotFound, "Check the order number.")
		})
	})

	Tool("cancel", "Cancel an open order.", func() {
		Args(func() {
			order()
			Required("order")
			Example(Val{"order": "H-1024"})
		})
		Return(func() {
			Attribute("status", String, "cancelled")
			Required("status")
		})
		Effect(Reversible)
		Rollback("Opens the order again.")
		Precondition("open", `state.status == "open"`, "the order is open")
		Postcondition("cancelled", `state.status == "cancelled"`, "the order is cancelled")
		Bind("orders", "cancel", func() {
			Map("order", "id")
			Fails("not_found", TargetNotFound, "Check the order number.")
			Fails("closed", PreconditionFailed, "It was closed meanwhile; look at it with orders.find.")
			seen()
			Compensate("reopen", func() { Map("order", "id") })
		})
	})

	// page:begin
	Tool("refund", "Pay back some of an order. The money is sent at once.", func() {
		Args(func() {
			order()
			Attribute("cents", Int64, "How much, in cents", func() { Minimum(1) })
			Attribute("reason", String, "Why", func() { Enum("damaged", "late", "changed_mind") })
			Required("order", "cents", "reason")
			Example(Val{"order": "H-1024", "cents": 2400, "reason": "damaged"})
		})
		Return(func() {
			Attribute("refund", String, "Number of the refund", func() { Pattern(`^R-[0-9]+$`) })
			Attribute("cents", Int64, "What was paid back")
			Required("refund", "cents")
		})
		Effect(Irreversible)
		Confirm("Pay this money back?")
		Precondition("new", `has(state.error)`, "this call has paid nothing back yet")
		Postcondition("paid", `state.order == args.order && state.cents == args.cents`, "the shop's books hold the refund")
		TimeLimit("10s")
		Ask("Which order, how much of it, and why?")
		Bind("orders", "refund", func() {
			Map("order", "id")
			MapResult("number", "refund")
			IdempotencyKey("key")
			Fails("not_found", TargetNotFound, "Check the order number.")
			Fails("closed", PreconditionFailed, "A cancelled order was paid back already.")
			Fails("rejected", InvalidArguments, "Pay back no more than what is left of the order; orders.find shows it.", func() { ArgumentFrom("field") })
			Fails("busy", RateLimited, "Wait, then make the same call again.", func() { RetryAfterFrom("seconds") })
			Observe("find_refund", func() {
				IdempotencyKey("key")
				Absent("not_found")
			})
		})
	})
	// page:end
})

func order() {
	Attribute("order", String, "Order number", func() { Pattern(`^H-[0-9]{1,9}$`) })
}

// seen has the state be the order itself.
func seen() {
	Observe("find", func() {
		Map("order", "id")
		Absent("not_found")
	})
}
