import { once } from "node:events";
import { createServer } from "node:http";

/*
 * A page of CopilotKit without the page: its runtime with an agent of dure, and its core, as
 * `useAgent` uses it. Run by test-copilotkit.ts in a folder that has the packages. Prints what a
 * person would see, as JSON.
 */

globalThis.window ??= globalThis; // the core connects in a browser alone
const [dure, folder] = process.argv.slice(2);
const load = (name) => import(import.meta.resolve(name, folder));
const { CopilotRuntime } = await load("@copilotkit/runtime/v2");
const { createCopilotNodeListener } = await load("@copilotkit/runtime/v2/node");
const { HttpAgent } = await load("@ag-ui/client");
const { CopilotKitCore } = await load("@copilotkit/core");

const desk = new HttpAgent({ url: `${dure}/ag-ui/v1/agents/desk` });
const runtime = new CopilotRuntime({ agents: { desk } });
const basePath = "/api/copilotkit";
const server = createServer(createCopilotNodeListener({ runtime, basePath }));
server.listen(0, "127.0.0.1");
await once(server, "listening");

const core = new CopilotKitCore({
  runtimeUrl: `http://127.0.0.1:${server.address().port}${basePath}`,
});
const errors = [];
const connected = Promise.withResolvers();
core.subscribe({
  onError: ({ error }) => void errors.push(String(error?.message ?? error)),
  onRuntimeConnectionStatusChanged: ({ status }) => {
    if (status === "connected") connected.resolve();
    if (status === "error") connected.reject(new Error("the runtime is not reached"));
  },
});
await core.connect?.();
await connected.promise;

const agent = core.getAgent("desk");
agent.threadId = "copilotkit-1";
let outcome;
agent.subscribe({
  onEvent: ({ event }) => {
    if (event.type === "RUN_FINISHED") outcome = event.outcome;
  },
});
const say = async (id, content, resume) => {
  if (content !== undefined) agent.addMessage({ id, role: "user", content });
  await core.runAgent({ agent, resume });
};

await say("m1", "hello");
const answer = agent.messages.at(-1).content;
await say("m2", "order it");
const asked = outcome.interrupts[0];
await say("m3", undefined, [{ interruptId: asked.id, status: "resolved", payload: "approve" }]);

const calls = agent.messages.flatMap(({ toolCalls = [] }) => toolCalls);
const results = agent.messages.filter(({ role }) => role === "tool").map(({ content }) => content);
const told = { answer, reason: asked.reason, tools: calls.map((call) => call.function.name) };
console.log(JSON.stringify({ ...told, results, last: agent.messages.at(-1).content, errors }));
process.exit(0);
