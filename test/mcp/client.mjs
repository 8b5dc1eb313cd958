// Drives a server with the TypeScript SDK: node client.mjs PLAN, where PLAN is JSON and "sdk" is 1 or 2. Each thing that happens is
// printed as a line of JSON. With "pause", the person's answer, or a call, waits until a line comes on standard input: the test may kill the
// server meanwhile.
import { createInterface } from "node:readline";

const plan = JSON.parse(process.argv[2]);
const tell = (event, value) => process.stdout.write(JSON.stringify({ event, ...value }) + "\n");
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

const capabilities = plan.elicit ? { elicitation: { form: {} } } : {};
let client, transport, onElicit;
if (plan.sdk === 1) {
  const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
  const { ElicitRequestSchema } = await import("@modelcontextprotocol/sdk/types.js");
  client = new Client({ name: "typescript-v1", version: "1" }, { capabilities });
  onElicit = (f) => client.setRequestHandler(ElicitRequestSchema, f);
  if (plan.url) {
    const { StreamableHTTPClientTransport } = await import("@modelcontextprotocol/sdk/client/streamableHttp.js");
    transport = new StreamableHTTPClientTransport(new URL(plan.url));
  } else {
    const { StdioClientTransport } = await import("@modelcontextprotocol/sdk/client/stdio.js");
    transport = new StdioClientTransport({ command: plan.command, args: plan.args, env: plan.env, stderr: "inherit" });
  }
} else {
  const { Client, StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
  client = new Client({ name: "typescript-v2", version: "1" }, { capabilities, versionNegotiation: { mode: plan.mode ?? "auto" } });
  onElicit = (f) => client.setRequestHandler("elicitation/create", f);
  if (plan.url) {
    transport = new StreamableHTTPClientTransport(new URL(plan.url));
  } else {
    const { StdioClientTransport } = await import("@modelcontextprotocol/client/stdio");
    transport = new StdioClientTransport({ command: plan.command, args: plan.args, env: plan.env, stderr: "inherit" });
  }
}
if (plan.elicit) {
  onElicit(async (request) => {
    tell("elicit", { message: request.params.message, schema: request.params.requestedSchema });
    if (plan.pause) await lines.next();
    return plan.elicit;
  });
}
await client.connect(transport);
tell("connected", { version: client.getNegotiatedProtocolVersion?.() ?? transport.protocolVersion ?? transport._protocolVersion ?? "", server: client.getServerVersion()?.name });
const tools = await client.listTools();
tell("tools", { names: tools.tools.map((t) => t.name) });
for (const call of plan.calls) {
  if (call.pause) {
    tell("pause", { name: call.name });
    await lines.next();
  }
  const options = { timeout: 60000, onprogress: (p) => tell("progress", { message: p.message }) };
  try {
    const params = { name: call.name, arguments: call.arguments ?? {}, ...(call.meta ? { _meta: call.meta } : {}) };
    const result = plan.sdk === 1 ? await client.callTool(params, undefined, options) : await client.callTool(params, options);
    const images = result.content.filter((c) => c.type === "image").map((c) => c.data.length);
    tell("result", { name: call.name, isError: result.isError ?? false, structured: result.structuredContent, text: result.content.filter((c) => c.type === "text").map((c) => c.text).join("\n"), images });
  } catch (error) {
    tell("error", { name: call.name, message: String(error.message ?? error) });
  }
}
await client.close();
process.exit(0);
