package design

import (
	. "goa.design/goa/v3/dsl"

	"toolsvc/tool"
)

var _ = Service("runs", func() {
	Description("Runs: their start, their calls, questions and approvals, events, control; and the artifacts that results name by digest.")
	problems("invalid_parameter", "forbidden", "unknown_tool", "unknown_run", "unknown_call", "unknown_artifact", "run_ended", "question_closed",
		"payload_too_large", "invalid_body", "key_reused", "run_full", "too_many_calls", "too_many_streams", "internal", "unavailable", "interrupted")
	HTTP(func() {
		Path("/v1/runs")
		httpProblems("invalid_parameter", "forbidden", "internal", "unavailable", "interrupted")
	})
	GRPC(func() {
		Package("toolsvc.runs.v1")
		grpcProblems("invalid_parameter", "forbidden", "internal", "unavailable", "interrupted")
	})

	Method("start", func() {
		Meta("openapi:summary", "Start a run")
		Meta("openapi:operationId", "startRun")
		Description("Start a run: with a goal, which a model plans for; with steps, which are validated all at once and end with the first that fails; or with neither, for calls that follow. It does not wait for the run.")
		Payload(func() {
			Field(1, "goal", String, "What is to be reached, in words; at most 64 KiB", func() { Example("Play Harbor Lights") })
			Field(2, "instructions", String, "What the model is told beside the goal; at most 64 KiB")
			Field(3, "steps", ArrayOf(stepRequestType), "The steps, in order; at most 1000")
			Field(4, "language", String, "Language of the narration, as a BCP 47 tag: en, ko or ja; any other is told in English", func() {
				MaxLength(35)
				Example("en")
			})
			Field(5, "policy", policyType)
			Field(6, "title", String, "What the run is called in lists", func() {
				MaxLength(200)
				Example("Play Harbor Lights")
			})
			Attribute("accept_language", String, "Preferred languages, as RFC 9110 says; language goes first", func() {
				MaxLength(1000)
				Example("ko, en;q=0.5")
			})
			Attribute("idempotency_key", String, "Makes a repeated request return the run of the first one; 1 to 255 characters, chosen by the client", idempotencyKey)
		})
		Result(func() {
			Field(1, "run_id", String, "The run", runPattern)
			Required("run_id")
		})
		HTTP(func() {
			POST("")
			Header("accept_language:Accept-Language")
			Header("idempotency_key:Idempotency-Key")
			Response(StatusCreated, func() {
				Description("The run has been started, now or by an earlier request with this Idempotency-Key; Location leads to it.")
			})
			httpProblems("invalid_body", "payload_too_large", "key_reused")
		})
		GRPC(func() {
			Metadata(func() {
				Attribute("accept_language:accept-language")
				Attribute("idempotency_key:idempotency-key")
			})
			Response(CodeOK)
			grpcProblems("invalid_body", "payload_too_large", "key_reused")
		})
	})

	Method("list", func() {
		Meta("openapi:summary", "List the latest runs")
		Meta("openapi:operationId", "listRuns")
		Description("List the latest runs, newest first. It takes the scope approve or admin, because who knows a run may use it.")
		Payload(func() {
			Field(1, "limit", Int, "At most so many, 1 to 1000; 100 without it", func() {
				Minimum(1)
				Maximum(1000)
				Example(100)
			})
			Field(2, "waiting", Boolean, "Only those that wait for an answer or an approval")
		})
		Result(func() {
			Field(1, "runs", ArrayOf(runSummaryType), "The runs", alwaysThere("runs"))
		})
		HTTP(func() {
			GET("")
			Param("limit")
			Param("waiting")
			Response(StatusOK)
		})
		GRPC(func() { Response(CodeOK) })
	})

	Method("show", func() {
		Meta("openapi:summary", "Read a run")
		Meta("openapi:operationId", "showRun")
		Description("Read a run: its steps with their results, attempts and verdicts, its open questions, and the planner's answer.")
		Payload(runOnly)
		Result(runStateType)
		HTTP(func() {
			GET("/{run}")
			Response(StatusOK)
			httpProblems("unknown_run")
		})
		GRPC(func() {
			Response(CodeOK)
			grpcProblems("unknown_run")
		})
	})

	Method("append", func() {
		Meta("openapi:summary", "Append calls to a run")
		Meta("openapi:operationId", "appendCalls")
		Description("Append one or several calls to the queue of a run, and return their identifiers without waiting for them. The payloads are validated all at once; when one is invalid, none is appended.")
		Payload(func() {
			Field(1, "run", String, "The run", runPattern)
			Field(2, "calls", ArrayOf(callRequestType), "The calls, in order; 1 to 100")
			Attribute("idempotency_key", String, "Makes a repeated request return the calls of the first one; 1 to 255 characters, chosen by the client", idempotencyKey)
			Required("run", "calls")
		})
		Result(func() {
			Field(1, "calls", ArrayOf(appendedCallType), "The calls, in the order of the request", alwaysThere("calls"))
		})
		HTTP(func() {
			POST("/{run}/calls")
			Header("idempotency_key:Idempotency-Key")
			Response(StatusAccepted, func() { Description("The calls wait in the queue of the run. Its events tell what becomes of them.") })
			httpProblems("invalid_body", "payload_too_large", "key_reused", "unknown_run", "run_ended", "run_full", "too_many_calls")
		})
		GRPC(func() {
			Metadata(func() { Attribute("idempotency_key:idempotency-key") })
			Response(CodeOK)
			grpcProblems("invalid_body", "payload_too_large", "key_reused", "unknown_run", "run_ended", "run_full", "too_many_calls")
		})
	})

	Method("result", func() {
		Meta("openapi:summary", "Get the result of a call")
		Meta("openapi:operationId", "getResult")
		Description("Get what a call has come to: its result, also when the run has ended, or the question that it waits for. A call that is queued or running is waited for.")
		Payload(func() {
			Field(1, "run", String, "The run", runPattern)
			Field(2, "call", String, "The call", func() {
				MaxLength(64)
				Example("c_7k2vq3xw5n4hj6rtd8ym9bzapc")
			})
			Required("run", "call")
		})
		Result(toolResultType)
		HTTP(func() {
			GET("/{run}/calls/{call}")
			Response(StatusOK)
			httpProblems("unknown_run", "unknown_call", "too_many_calls")
		})
		GRPC(func() {
			Response(CodeOK)
			grpcProblems("unknown_run", "unknown_call", "too_many_calls")
		})
	})

	Method("watch", func() { // over HTTP, server-sent events, which are written by hand (server/events.go)
		Description("Stream the events of a run: those that are there, then those to come, each once and in order. The stream ends when the run has ended and all was sent.")
		Payload(func() {
			Field(1, "run", String, "The run", runPattern)
			Field(2, "after", Int64, "Only events with a greater id; to go on after a lost connection, the id of the last event that came", func() { Minimum(0) })
			Required("run")
		})
		StreamingResult(eventType)
		GRPC(func() {
			Response(CodeOK)
			grpcProblems("unknown_run", "too_many_streams")
		})
	})

	Method("artifact", func() { // over HTTP, plain bytes (server/artifact.go)
		Description("Read an artifact, in pieces of at most 256 KiB.")
		Payload(func() {
			Field(1, "digest", String, "Its content digest", func() {
				Pattern(`^sha256:[0-9a-f]{64}$`)
				Example("sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae")
			})
			Required("digest")
		})
		StreamingResult(artifactPieceType)
		GRPC(func() {
			Response(CodeOK)
			grpcProblems("unknown_artifact", "too_many_streams")
		})
	})

	Method("answer", func() {
		Meta("openapi:summary", "Answer a question")
		Meta("openapi:operationId", "answerQuestion")
		Description("Answer a question of a run, and wait for what its call comes to: a result, or its next question. An answer that does not validate is refused with its issues, and the question stays open. Questions about an outcome take the scope approve, because the answer may let an action be done again.")
		Payload(func() {
			Field(1, "run", String, "The run", runPattern)
			Field(2, "question", String, "The question", func() {
				MaxLength(64)
				Example("q_5jx2mn4tq7wkc3zr6vbd8hysfa")
			})
			Field(3, "answer", Bytes, "A JSON object as the question's schema says; of arguments, only the fields that are missing or wrong", rawJSON)
			Required("run", "question", "answer")
		})
		Result(answeredType)
		HTTP(func() {
			POST("/{run}/answers/{question}")
			Body("answer")
			answered()
		})
		GRPC(func() {
			Response(CodeOK)
			grpcProblems("payload_too_large", "unknown_run", "run_ended", "question_closed", "too_many_calls")
		})
	})

	Method("approve", func() {
		Meta("openapi:summary", "Approve or refuse a call")
		Meta("openapi:operationId", "approveCall")
		Description("Decide about a call that waits for an approval, and wait for what it comes to. The digest of the question binds the approval to the exact arguments. It takes the scope approve.")
		Payload(func() {
			Field(1, "run", String, "The run", runPattern)
			Field(2, "approval", String, "The approval", func() {
				MaxLength(64)
				Example("a_5jx2mn4tq7wkc3zr6vbd8hysfa")
			})
			Field(3, "approved", Boolean, "Whether the call may be made")
			Field(4, "digest", String, "The digest of the question; needed to approve", func() { MaxLength(200) })
			Required("run", "approval", "approved")
		})
		Result(answeredType)
		HTTP(func() {
			POST("/{run}/approvals/{approval}")
			answered()
		})
		GRPC(func() {
			Response(CodeOK)
			grpcProblems("payload_too_large", "unknown_run", "run_ended", "question_closed", "too_many_calls")
		})
	})

	control("pause", "Pause a run", "Keep the run from beginning another step; the one in hand goes on.")
	control("resume", "Resume a run", "Let a paused run go on.")
	control("cancel", "Cancel a run", "End the run. Calls that wait are not made; the one in hand is stopped, and what was done stays done.")
})

// answered are the responses to an answer.
func answered() {
	Response(StatusOK, func() {
		Description("The answer is taken, and this is what the call has come to; when its status is needs_input, it asks once more.")
		Header("outcome:Toolsvc-Outcome")
		Body("result")
	})
	Response(StatusUnprocessableEntity, func() {
		Description("The answer is not valid and the question stays open: the ToolResult holds the question, and what is wrong.")
		Tag("outcome", "rejected")
		Header("outcome:Toolsvc-Outcome")
		Body("result")
	})
	Response(StatusNoContent, func() {
		Description("The answer is taken; no call waited for it.")
		Tag("outcome", "taken")
		Header("outcome:Toolsvc-Outcome")
		Body(Empty)
	})
	httpProblems("payload_too_large", "unknown_run", "run_ended", "question_closed", "too_many_calls")
}

// control declares a method that changes how a run goes on.
func control(name, summary, description string) {
	Method(name, func() {
		Meta("openapi:summary", summary)
		Meta("openapi:operationId", name+"Run")
		Description(description)
		Payload(runOnly)
		HTTP(func() {
			POST("/{run}/" + name)
			Response(StatusNoContent)
			httpProblems("unknown_run", "run_ended")
		})
		GRPC(func() {
			Response(CodeOK)
			grpcProblems("unknown_run", "run_ended")
		})
	})
}

func runOnly() {
	Field(1, "run", String, "The run", runPattern)
	Required("run")
}

var policyType = Type("Policy", func() {
	Description("Bounds of a run. What is left out has its default.")
	Field(1, "repair", String, "How far payloads may be corrected: none, syntax, lossless (the default), model or person; each includes those before it", func() { Example("lossless") })
	Field(2, "ask", Boolean, "Whether a person may be asked where a target is ambiguous or an outcome unknown")
	Field(3, "approve", String, "What becomes of calls that need an approval: ask (the default), deny, or allow, which takes the scope approve", func() { Example("ask") })
	Field(4, "allow", ArrayOf(String), "Tools that may be called, as patterns; without any, all", func() { Example([]string{"browser.*"}) })
	Field(5, "deny", ArrayOf(String), "Tools that may not be called, as patterns; stronger than allow", func() { Example([]string{"browser.evaluate"}) })
	Field(6, "max_calls", Int, "Most calls; 500 without it")
	Field(7, "max_failures", Int, "Most calls that may fail one after the other; 10 without it")
	Field(8, "time_budget_ms", Int64, "Most time, waiting for people excepted, in milliseconds")
	Field(9, "token_budget", Int64, "Most tokens of the model, input and output together")
	Field(10, "wait_budget_ms", Int64, "How long the run may back off in all, in milliseconds; 10 minutes without it")
	Field(11, "question_ttl_ms", Int64, "How long a question stays open, in milliseconds; 7 days without it")
})

var stepRequestType = Type("StepRequest", func() {
	Description("One step of a script.")
	Field(1, "tool", String, "toolset.tool", func() { Example("browser.click") })
	Field(2, "arguments", Bytes, "The payload, as the tool's payload schema says; none is the same as {}", rawJSON)
	Field(3, "title", String, "What the step is called; made from the arguments without it", func() { MaxLength(200) })
	Field(4, "expect_failure", String, "Makes the step right when it fails in exactly this way with nothing done: "+oneOf(tool.Failures), func() { MaxLength(64) })
	Required("tool")
})

var callRequestType = Type("CallRequest", func() {
	Description("One call.")
	Field(1, "tool", String, "toolset.tool", func() { Example("browser.click") })
	Field(2, "arguments", Bytes, "The payload, as the tool's payload schema says; none is the same as {}", rawJSON)
	Required("tool")
})

var appendedCallType = Type("AppendedCall", func() {
	Description("A call that waits in the queue of its run.")
	Field(1, "call_id", String, "Identifier of the call", func() { Example("c_7k2vq3xw5n4hj6rtd8ym9bzapc") })
	Field(2, "tool", String, "Its tool", func() { Example("browser.click") })
	Required("call_id", "tool")
})

var runSummaryType = Type("RunSummary", func() {
	Description("One run in a list.")
	Field(1, "run_id", String, "The run", func() { Example("r_4mwhq6zt2c9xk7bnv5sd3jyp8a") })
	Field(2, "title", String, "What it is called")
	Field(3, "outcome", String, "running, succeeded, failed, cancelled or idle", func() { Example("running") })
	Field(4, "started", String, "When it began, RFC 3339", func() { Example("2026-11-21T12:00:00Z") })
	Required("run_id", "title", "outcome", "started")
})

var runStateType = Type("RunState", func() {
	Description("A run as it is now.")
	Field(1, "run_id", String, "The run", func() { Example("r_4mwhq6zt2c9xk7bnv5sd3jyp8a") })
	Field(2, "title", String, "What it is called")
	Field(3, "language", String, "Language of its narration", func() { Example("en") })
	Field(4, "kind", String, "Where its calls come from: caller, script, pipeline or gemini", func() { Example("caller") })
	Field(5, "outcome", String, "running; or how it ended: succeeded (every step is verified), failed, cancelled, idle (no call came)", func() { Example("running") })
	Field(6, "steps", ArrayOf(stepStateType), "Its steps, in order", alwaysThere("steps"))
	Field(7, "questions", ArrayOf(questionType), "What waits for an answer, in the order of asking", alwaysThere("questions"))
	Field(8, "paused", Boolean, "Whether no step begins before the run is resumed")
	Field(9, "policy", policyType)
	Field(10, "goal", String, "What a model is to reach")
	Field(11, "answer", String, "The planner's final response")
	Field(12, "finalized", String, "Why the planner was made to come to an end; absent when it did by itself")
	Field(13, "model", String, "The model that plans")
	Field(14, "turns", Int, "Turns of the planner so far")
	Field(15, "tokens", Int64, "Tokens of models so far")
	Field(16, "began", String, "When it began, RFC 3339", func() { Example("2026-11-21T12:00:00Z") })
	Field(17, "waited_ms", Int64, "How long it has backed off in all, in milliseconds")
	Field(18, "with_people_ms", Int64, "How long it has waited for people, in milliseconds")
	Field(19, "worker", String, "The worker that has its tab, shells and files; absent where one worker serves all runs, and before the first attempt", func() {
		Example("toolsvc-1-mz4k7qxp")
	})
	Required("run_id", "title", "language", "kind", "outcome", "paused", "policy", "tokens", "began", "waited_ms", "with_people_ms")
})

var stepStateType = Type("StepState", func() {
	Description("One step of a run.")
	Field(1, "call_id", String, "Its call", func() { Example("c_7k2vq3xw5n4hj6rtd8ym9bzapc") })
	Field(2, "tool", String, "Its tool", func() { Example("browser.click") })
	Field(3, "title", String, "What it does, in the run's language")
	Field(4, "status", String, "queued, running, waiting (for an answer), verified, failed or skipped", func() { Example("verified") })
	Field(5, "expect_failure", String, "The failure that makes it right; absent when it has to succeed")
	Field(6, "result", toolResultType)
	Field(7, "child_run", String, "The latest run that does, or did, its work: of an agent, or of a stage; absent for other tools", func() {
		Example("r_4mwhq6zt2c9xk7bnv5sd3jyp8a-1-1")
	})
	Required("call_id", "tool", "title", "status")
})

var answeredType = Type("Answered", func() {
	Description("What became of an answer.")
	Field(1, "outcome", String, "called: the result is what the call has come to; rejected: the answer is not valid, and the question stays open; taken: no call waited for it", func() {
		Enum("called", "rejected", "taken")
	})
	Field(2, "result", toolResultType)
	Required("outcome")
})

var eventType = Type("Event", func() {
	Description("Something that happened in a run.")
	Field(1, "id", Int64, "From 1, greater by one each time", func() { Example(1) })
	Field(2, "run_id", String, "The run", func() { Example("r_4mwhq6zt2c9xk7bnv5sd3jyp8a") })
	Field(3, "type", String, "narration, tool_result, question, approval or run", func() { Example("narration") })
	Field(4, "at", String, "When it happened, RFC 3339", func() { Example("2026-11-21T12:00:00Z") })
	Field(5, "data", Bytes, "What happened, as JSON: the same as the data of a server-sent event", rawJSON)
	Required("id", "run_id", "type", "at", "data")
})

var artifactPieceType = Type("ArtifactPiece", func() {
	Description("A piece of an artifact.")
	Field(1, "media_type", String, "Media type of the whole; in every piece", func() { Example("image/png") })
	Field(2, "data", Bytes, "The piece; the pieces in order are the artifact")
	Required("media_type", "data")
})
