package design

import (
	. "goa.design/goa/v3/dsl"

	. "toolsvc/toolset/dsl"
)

var _ = Toolset("desk", func() {
	Description("The record shop's complaints desk: an agent that works with the tools of the toolset orders.")

	Tool("settle_complaint", "Settle a customer's complaint about an order: look into it, and pay back what is due.", func() {
		Args(func() {
			order()
			Attribute("complaint", String, "What the customer writes", func() {
				MinLength(1)
				MaxLength(4000)
			})
			Attribute("most_cents", Int64, "The most that may be paid back, in cents", func() {
				Minimum(0)
				Default(5000)
			})
			Required("order", "complaint")
			Example(Val{"order": "H-1024", "complaint": "One of the records arrived cracked."})
		})
		Return(func() {
			Attribute("decision", String, "What was decided", func() { Enum("refunded", "declined") })
			Attribute("cents", Int64, "What was paid back, in cents", func() { Minimum(0) })
			Attribute("reply", String, "What the customer is told", func() { MinLength(1) })
			Required("decision", "cents", "reply")
		})
		Effect(Irreversible)
		Confirm("Let the agent settle this complaint, and pay money back?")
		TimeLimit("5m")
		Ask("Which order is it about, and what does the customer complain of?")
		// page:begin
		Postcondition("looked", `state.calls.exists(c, c.tool == "orders.find" && c.verified)`, "the order was looked at")
		Postcondition("within", `result.cents <= args.most_cents`, "no more was paid back than is allowed")
		Postcondition("booked", `(result.decision == "refunded") == state.calls.exists(c, c.tool == "orders.refund" && c.verified && c.result.cents == result.cents)`,
			"the refund that is answered is the one that was made")
		Agent("Find the order first. Pay back what was damaged or lost, and nothing else; at most once, and never more than most_cents. "+
			"When nothing is due, decline, and say kindly why.", func() {
			Goal("Settle this complaint: {{args}}")
			Tools("orders.find", "orders.refund")
			MaxCalls(8)
			TokenBudget(60_000)
			Attempts(2)
		})
		// page:end
	})
})
