// Package service runs tools that are bound to the methods of Goa services: the Bind of a toolset's design. The generated package
// gen/toolsets/<toolset>/executor makes its [Binding] values and calls [New]; stack gives the executor to the planner.
//
// The same binding calls a service in this process or a generated client, over HTTP or gRPC. It guarantees:
//   - a failure says "nothing was sent" only where that is proven: the method answered an error that the design maps so, or the
//     connection to a remote service was never made. Every other error leaves the effect unknown;
//   - an answer that is lost on its way is made up for only by looking: by a state that has changed and holds the result;
//   - a call ends when its context does, even if the method does not heed it, and a panic of the method is a failure of the call;
//   - the method is called once per dispatch, and nothing here repeats it;
//   - what Observe answers is taken as evidence only when it is plain JSON of a bounded size.
package service
