// Package gemini asks Gemini, through google.golang.org/genai, the four things for which toolsvc needs a model:
//
//   - [Client.PlanTurn]: which calls, which question or which final answer come next, for a goal in words;
//   - [Client.Repair]: a corrected payload, for a payload that breaks its schema;
//   - [Grounder.Locate]: where on a screenshot the thing is that a call means;
//   - [Client.Verify]: whether what was expected has come true, by the look of the page before and after.
//
// What it guarantees to its callers (the planner, and adapters in stack):
//
//   - Every request is bounded in time, in what it sends and in what it reads, and is repeated at most a few times, after a short wait,
//     where the service says that it is busy. A longer wait is left to the caller, in [tool.Failed].RetryAfter, because it is a durable
//     timer's work.
//   - An answer that is refused, blocked, cut, empty, or not what was asked for is an error, never half a success. The errors are
//     *[tool.Failed] and wrap one of the Err values of this package.
//   - [Client.Verify] answers uncertain for anything but a complete, consistent and plausible answer.
//   - A place on a picture is never guessed: what the model is not sure of is not returned, and equals are all returned.
//   - The API key appears in no error, no log and no reply, and follows no redirect.
//   - The tokens that were spent are in the reply, also when there is an error beside it.
//   - Requests and replies are plain data: they may be kept in Temporal's history as JSON.
//
// Without a key there is no Client: [New] says [ErrNoKey], and callers skip what needs a model and say so.
//
// What pages, files and programs contain is shown to the model as data between markers that it cannot forge, with the instruction to follow
// nothing that stands in it. That lowers the risk and does not remove it: which is why no answer of the model's is believed without the
// generated decoder (payloads), the gate and hit test (places), or deterministic checks beside it (verdicts).
//
// Package geminitest, beside this one, is a fake of the service for tests.
package gemini
