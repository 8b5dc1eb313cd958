package design

import (
	. "goa.design/goa/v3/dsl"
)

var _ = Service("tools", func() {
	Description("The catalogue of tools, and calls to them.")

	for _, name := range []string{"invalid_parameter", "unknown_tool", "unknown_run", "run_ended", "run_full", "payload_too_large",
		"too_many_calls", "unavailable", "internal"} {
		Error(name, problemType)
	}

	HTTP(func() {
		Path("/v1/tools")
		problem("internal", StatusInternalServerError, "A fault of toolsvc itself. The text says whether a call may have been made.")
	})
	GRPC(func() {
		Package("toolsvc.tools.v1")
		Response("internal", CodeInternal)
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
			problem("unknown_tool", StatusNotFound, "There is no such tool; nearest lists names that are near.")
		})
		GRPC(func() {
			Response(CodeOK)
			Response("unknown_tool", CodeNotFound)
		})
	})

	Method("call", func() {
		Meta("openapi:summary", "Call a tool")
		Meta("openapi:operationId", "callTool")
		Description("Call a tool and wait for its result. A client that goes away does not cancel the call.")
		Payload(func() {
			Field(1, "tool", String, "toolset.tool", func() { Example("browser.click") })
			Field(2, "arguments", Bytes, "The payload, as the tool's payload schema says; none is the same as {}", rawJSON)
			Field(3, "run", String, "Run to make the call in, started when it is not there; a run of this one call without it", func() {
				Pattern(`^r_[A-Za-z0-9_-]{1,62}$`)
				Example("r_4mwhq6zt2c9xk7bnv5sd3jyp8a")
			})
			Field(4, "lang", String, "Language of the narration, as a BCP 47 tag: en, ko or ja; any other is told in English", func() {
				MaxLength(35)
				Example("en")
			})
			Attribute("accept_language", String, "Preferred languages, as RFC 9110 says; lang goes first", func() {
				MaxLength(1000)
				Example("ko, en;q=0.5")
			})
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
			Header("accept_language:Accept-Language")
			Body("arguments")
			Response(StatusOK, func() {
				Description("The call has ended, well or not: a tool that failed says so in its ToolResult.")
				Header("outcome:Toolsvc-Outcome")
				Body("result")
			})
			Response(StatusUnprocessableEntity, func() {
				Description("The payload is not valid and nothing was called: the ToolResult lists all violations.")
				Tag("outcome", "rejected")
				Header("outcome:Toolsvc-Outcome")
				Body("result")
			})
			problem("invalid_parameter", StatusBadRequest, "A parameter is not as it must be. Nothing was called.")
			notFound := "There is no such run; with the code unknown_tool, no such tool, and nearest lists names that are near. Nothing was called."
			problem("unknown_tool", StatusNotFound, notFound)
			problem("unknown_run", StatusNotFound, notFound)
			problem("run_ended", StatusConflict, "The run takes no more calls. Nothing was called; start another run.")
			problem("payload_too_large", StatusRequestEntityTooLarge, "The payload is larger than 1 MiB. Nothing was called.")
			tooMany := "Too many calls are being made at once; with the code run_full, too many wait in the run. Nothing was called; wait as Retry-After says."
			problem("run_full", StatusTooManyRequests, tooMany)
			problem("too_many_calls", StatusTooManyRequests, tooMany)
			problem("unavailable", StatusServiceUnavailable, "What keeps the runs cannot be reached. Nothing was accepted; wait as Retry-After says.")
		})
		GRPC(func() {
			Metadata(func() { Attribute("accept_language:accept-language") })
			Response(CodeOK)
			Response("invalid_parameter", CodeInvalidArgument)
			Response("unknown_tool", CodeNotFound)
			Response("unknown_run", CodeNotFound)
			Response("run_ended", CodeFailedPrecondition)
			Response("payload_too_large", CodeResourceExhausted)
			Response("run_full", CodeResourceExhausted)
			Response("too_many_calls", CodeResourceExhausted)
			Response("unavailable", CodeUnavailable)
		})
	})
})

// problem answers an error with problem details, and with Retry-After when waiting helps.
func problem(name string, status int, description string) {
	Response(name, status, func() {
		Description(description)
		ContentType("application/problem+json")
		Header("retry_after:Retry-After")
	})
}
