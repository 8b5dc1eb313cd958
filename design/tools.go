package design

import (
	. "goa.design/goa/v3/dsl"
)

var _ = Service("tools", func() {
	Description("The catalogue of tools, and calls to them.")

	problems("invalid_parameter", "unknown_tool", "unknown_run", "run_ended", "run_full", "payload_too_large", "too_many_calls", "key_reused",
		"forbidden", "unavailable", "interrupted", "internal")
	HTTP(func() {
		Path("/v1/tools")
		httpProblems("forbidden", "internal")
	})
	GRPC(func() {
		Package("toolsvc.tools.v1")
		grpcProblems("forbidden", "internal")
	})

	Method("list", func() {
		Meta("openapi:summary", "List all tools")
		Meta("openapi:operationId", "listTools")
		Description("List all tools, in order of their identifiers.")
		Result(func() {
			Field(1, "tools", ArrayOf(toolSpecType), "The tools", alwaysThere("tools"))
		})
		HTTP(func() {
			GET("")
			Response(StatusOK)
		})
		GRPC(func() { Response(CodeOK) })
	})

	Method("show", func() {
		Meta("openapi:summary", "Describe a tool")
		Meta("openapi:operationId", "showTool")
		Description("Describe one tool.")
		Payload(func() {
			Field(1, "tool", String, "toolset.tool", func() { Example("browser.click") })
			Required("tool")
		})
		Result(toolSpecType)
		HTTP(func() {
			GET("/{tool}")
			Response(StatusOK)
			httpProblems("unknown_tool")
		})
		GRPC(func() {
			Response(CodeOK)
			grpcProblems("unknown_tool")
		})
	})

	Method("call", func() {
		Meta("openapi:summary", "Call a tool")
		Meta("openapi:operationId", "callTool")
		Description("Call a tool and wait for its result. A client that goes away does not cancel the call.")
		Payload(func() {
			Field(1, "tool", String, "toolset.tool", func() { Example("browser.click") })
			Field(2, "arguments", Bytes, "The payload, as the tool's payload schema says; none is the same as {}", rawJSON)
			Field(3, "run", String, "Run to make the call in, started when it is not there; a run of this one call without it", runPattern)
			Field(4, "lang", String, "Language of the narration, as a BCP 47 tag: en, ko or ja; any other is told in English", func() {
				MaxLength(35)
				Example("en")
			})
			Attribute("accept_language", String, "Preferred languages, as RFC 9110 says; lang goes first", func() {
				MaxLength(1000)
				Example("ko, en;q=0.5")
			})
			Field(5, "repair", String, "How far the payload may be corrected: none, syntax, lossless (the default), model, or person, which asks for what is missing. A run that is there keeps its own policy", func() {
				Enum("none", "syntax", "lossless", "model", "person")
			})
			Field(6, "ask", Boolean, "Whether a person may be asked where a target is ambiguous or an outcome unknown; the call then waits")
			Field(7, "approve", String, "What becomes of a call that needs an approval: ask (the default), deny, or allow, which takes the scope approve", func() {
				Enum("ask", "allow", "deny")
			})
			Attribute("idempotency_key", String, "Makes a repeated request return what the first one came to; 1 to 255 characters, chosen by the client", idempotencyKey)
			Required("tool", "arguments")
		})
		Result(func() {
			// HTTP tells the outcome by its status as well. On gRPC both are OK: an invalid payload is answered, with all that helps to
			// correct it, in the message that every call ends in.
			Field(1, "outcome", String, "Whether the payload was valid, so that the call was made", func() { Enum("called", "rejected") })
			Field(2, "result", toolResultType)
			Required("outcome", "result")
		})
		HTTP(func() {
			POST("/{tool}")
			Param("run")
			Param("lang")
			Param("repair")
			Param("ask")
			Param("approve")
			Header("accept_language:Accept-Language")
			Header("idempotency_key:Idempotency-Key")
			Body("arguments")
			Response(StatusOK, func() {
				Description("The call has ended, well or not: a tool that failed says so in its ToolResult; or it waits for an answer, and its status is needs_input.")
				Header("outcome:Toolsvc-Outcome")
				Body("result")
			})
			Response(StatusUnprocessableEntity, func() {
				Description("The payload is not valid and nothing was called: the ToolResult lists all violations.")
				Tag("outcome", "rejected")
				Header("outcome:Toolsvc-Outcome")
				Body("result")
			})
			httpProblems("invalid_parameter", "unknown_tool", "unknown_run", "run_ended", "payload_too_large", "run_full", "too_many_calls", "unavailable", "interrupted")
		})
		GRPC(func() {
			Metadata(func() {
				Attribute("accept_language:accept-language")
				Attribute("idempotency_key:idempotency-key")
			})
			Response(CodeOK)
			grpcProblems("invalid_parameter", "unknown_tool", "unknown_run", "run_ended", "payload_too_large", "run_full", "too_many_calls", "key_reused", "unavailable", "interrupted")
		})
	})
})
