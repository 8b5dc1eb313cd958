// Package tutorial holds the example of docs/declare-a-tool.md: a small design, what is generated from it (gen/), and tests whose output the
// page shows. go test ./toolset/codegen -update writes gen/; go test ./toolset/codegen/internal/tutorial -update writes the output.
package tutorial

import (
	. "goa.design/goa/v3/dsl"

	. "toolsvc/toolset/dsl"
)

// GenPackage is the import path of gen/.
const GenPackage = "toolsvc/toolset/codegen/internal/tutorial/gen"

// Design declares the toolset. In a project, what stands between the marks stands at the top level of design/shop.go.
func Design() {
	// page:begin
	var Line = Type("Line", func() {
		Description("One item of an order.")
		Attribute("sku", String, "Article number", func() {
			Pattern(`^[A-Z]{3}-[0-9]{4}$`)
			Example("LPV-0001")
		})
		Attribute("quantity", Int, "How many", func() {
			Minimum(1)
			Maximum(99)
			Default(1)
		})
		Required("sku")
	})

	var _ = Toolset("shop", func() {
		Description("Orders of the record shop.")

		Tool("refund", "Pay back some items of an order. The money is sent at once.", func() {
			Args(func() {
				Attribute("order", String, "Order number", func() { Pattern(`^H-[0-9]+$`) })
				Attribute("lines", ArrayOf(Line), "The items to pay back", func() {
					MinLength(1)
					MaxLength(50)
				})
				Attribute("reason", String, "Why", func() { Enum("damaged", "late", "changed_mind") })
				Attribute("card", String, "Card to pay to, when it is not the one that paid", func() {
					Pattern(`^[0-9]{12,19}$`)
					Secret()
				})
				Required("order", "lines", "reason")
				Example(Val{"order": "H-1024", "lines": []Val{{"sku": "LPV-0001", "quantity": 1}}, "reason": "damaged"})
			})
			Return(func() {
				Attribute("refund", String, "Number of the refund", func() { Pattern(`^R-[0-9]+$`) })
				Attribute("cents", Int, "What was paid back", func() { Minimum(0) })
				Attribute("lines", Int, "How many items were paid back")
				Required("refund", "cents", "lines")
			})
			Effect(Irreversible)
			Confirm("Pay this money back?")
			Postcondition("every_line", `result.lines == size(args.lines)`, "every item was paid back")
			TimeLimit("10s")
			Ask("Which items of which order, and why?")
		})
	})
	// page:end
}
