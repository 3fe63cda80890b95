import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { DureError } from "../../kernel/errors.ts";
import type { DonePayload } from "../service/service.ts";
import type { TurnContext } from "../turn/turn-context.ts";
import { checkService, scanHandlers } from "./load-service-check.ts";
import type { Problem } from "./load-service-document.ts";
import { checkImportedServices } from "./load-service-imports.ts";
import { teamTools } from "../agent/team-tools.ts";
import { loadService } from "./load-service.ts";
import { StateManager } from "../turn/state.ts";

const PACKAGES = fileURLToPath(new URL("../../../../../node_modules", import.meta.url));

/** A service's folder; its modules find zod as they would in a team. */
let folder: string;
let team: string;
beforeEach(async () => {
  team = await mkdtemp(path.join(await realpath(tmpdir()), "dure-team-"));
  await symlink(PACKAGES, path.join(team, "node_modules"));
  folder = path.join(team, "transfer");
  await mkdir(folder);
});
afterEach(() => rm(team, { recursive: true, force: true }));

async function write(files: Readonly<Record<string, string>>): Promise<void> {
  for (const [file, text] of Object.entries(files)) {
    await mkdir(path.dirname(path.join(folder, file)), { recursive: true });
    await writeFile(path.join(folder, file), text);
  }
}

async function problems(): Promise<readonly Problem[]> {
  const error = await loadService(folder).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof DureError)) {
    throw new Error(`no DureError but ${String(error)}`, { cause: error });
  }
  return (error.details?.["problems"] ?? []) as readonly Problem[];
}

const FULL = {
  "service.yaml": `name: transfer
title: 이체
version: 2
examples: [엄마에게 5만원 보내줘]
agents:
  intent: { class: IntentAgent, stream: false }
  slot:
    class: conversational
    card: { llm: offline, policy: { max_retry: 1, schema: SlotAnswer, validate: noEmpty }, tools: [lookUp] }
  writer:
    class: Writer
    stream: true
  helper: {}
flows:
  router: chooseFlow
  handlers: { DEFAULT: smallTalk, TRANSFER: transferFlow }
state: { model: TransferState, manager: transferStages }
memory: { summarize_threshold: 8 }
sessions: { busy: merge }
completed: keepReceipt
tool_calls: full
`,
  "agents/helper/prompt.md": "Help politely.\n",
  "agents/helper/card.json":
    '{ "llm": { "provider": "openai", "model": "gpt-5-mini" }, "policy": { "timeout_sec": 5 } }',
  "agents.ts": `
    interface Parts { readonly name: string }
    export class IntentAgent {
      parts: Parts;
      constructor(parts: Parts) { this.parts = parts; }
      async run() { return { status: "success", data: this.parts.name }; }
      async *stream() { yield "never"; return { status: "success", data: 1 }; }
    }
    export const Writer = (parts: Parts) => ({ async *stream() { yield parts.name; return { status: "success", data: "w" }; } });
  `,
  "schemas.ts": `
    import { z } from "zod";
    export const SlotAnswer = z.object({ action: z.string(), message: z.string() });
  `,
  "validators.ts": "export const noEmpty = (output: unknown) => (output ? undefined : 'empty');",
  "tools.ts":
    "import { z } from 'zod';\nexport const lookUp = { description: 'x', inputSchema: z.object({}), execute: () => 1, effect: 'none', recover: 'ask', timeoutMs: 1, settleMs: 1 };",
  "flows.ts": `
    export async function* smallTalk(turn: { message: string }) { return { message: turn.message }; }
    export async function* transferFlow() { return { message: "booked", receipt: { id: "t1" } }; }
    export const keepReceipt = (done: { receipt?: unknown }, flow: string) => done.receipt ? { flow, stage: "EXECUTED", data: done.receipt } : undefined;
  `,
  "router.ts": "export const chooseFlow = (scenario: string) => scenario.toUpperCase();",
  "state.ts": `
    import { z } from "zod";
    export const TransferState = z.object({ stage: z.string().default("NONE"), amount: z.number().optional() });
    export const transferStages = { initial: "INIT", terminal: ["EXECUTED"], transitions: { INIT: ["EXECUTED"], EXECUTED: ["INIT"] } };
  `,
  "server.ts": "throw new Error('a module that no file names is not run');",
};

describe("loadService", () => {
  test("fills a service from service.yaml, cards, prompts and the exports of the folder", async () => {
    await write(FULL);

    const service = await loadService(folder);

    expect(service).toMatchObject({
      kind: "service",
      name: "transfer",
      title: "이체",
      version: "2",
      defaultFlow: "DEFAULT",
      intent: "intent",
      memory: { summarizeThreshold: 8 },
      sessions: { busy: "merge" },
      toolCalls: "full",
    });
    expect(service.router?.("transfer", { message: "" })).toBe("TRANSFER");
    const { intent, slot, writer, helper } = service.agents;
    expect(intent).toMatchObject({ kind: "custom", name: "intent" });
    expect(intent!.stream).toBeUndefined();
    expect(await intent!.run!(undefined as never)).toEqual({ status: "success", data: "intent" });
    expect(slot).toMatchObject({
      kind: "conversational",
      card: { policy: { maxAttempts: 2 }, llm: { provider: "offline" } },
    });
    expect(Object.keys(slot!.tools)).toEqual(["lookUp"]);
    expect(slot!.validate?.("")).toBe("empty");
    expect((await writer!.stream!(undefined as never).next()).value).toBe("writer");
    expect(helper).toMatchObject({
      kind: "chat",
      prompt: "Help politely.",
      card: { llm: { model: "gpt-5-mini" }, policy: { timeoutSec: 5 } },
    });
    const state = new StateManager(service.state!);
    expect(state.value).toEqual({ stage: "INIT" });
    expect(() => state.transition("READY")).toThrow(/INIT cannot be followed by READY/);
  });

  test("keeps of a finished flow what `completed` selects", async () => {
    await write(FULL);
    const { flows } = await loadService(folder);
    const end = async (key: string): Promise<DonePayload | void> => {
      const step = await flows[key]!({ message: "hi" } as TurnContext).next();
      return step.done ? step.value : undefined;
    };

    expect(await end("TRANSFER")).toMatchObject({
      message: "booked",
      completed: { flow: "TRANSFER", stage: "EXECUTED", data: { id: "t1" } },
    });
    expect(await end("DEFAULT")).toEqual({ message: "hi" });
  });

  test("accepts the name project.yaml, and a service in code", async () => {
    await write({
      "project.yaml": "name: one\nagents: { a: {} }\nflows: { handlers: { DEFAULT: go } }\n",
      "index.ts": "export async function* go() { return { message: '' }; }",
      "prompt.md": "Only one agent: the prompt may stand beside it.",
    });
    expect(await loadService(folder)).toMatchObject({
      name: "one",
      agents: { a: { prompt: "Only one agent: the prompt may stand beside it." } },
    });
    await rm(path.join(folder, "project.yaml"));

    await write({
      "service.ts":
        "export default { kind: 'service', name: 'code', version: '1', defaultFlow: 'D', agents: {}, flows: {} } as const;",
    });
    expect(await loadService(folder)).toMatchObject({ name: "code" });
  });

  const YAML = FULL["service.yaml"];
  const ROUTED = "router: chooseFlow";

  test.each([
    ["behind its module", "router: router.chooseFlow"],
    ["under the key of a class", "router: { class: chooseFlow }"],
    ["behind a module that is not in the root", "router: flows.router.pickFlow"],
    ["as a class", "router: { class: flows.router.PickFlow }"],
    ["as a table", "router: { Transfer: TRANSFER, transfer: TRANSFER }"],
  ])("takes a router %s", async (_what, router) => {
    await write({
      ...FULL,
      "service.yaml": YAML.replace(ROUTED, router),
      "flows/router.ts": `export const pickFlow = (scenario: string) => scenario.toUpperCase();
        export class PickFlow { #to = "TRANSFER"; route(): string { return this.#to; } }`,
    });

    const { router: route } = await loadService(folder);

    expect(route!("transfer", { message: "" })).toBe("TRANSFER");
  });

  test("takes handlers, classes, state and selectors behind their modules, and as classes", async () => {
    await write({
      ...FULL,
      "service.yaml": YAML.replace("class: IntentAgent", "class: agents.IntentAgent")
        .replace("DEFAULT: smallTalk", "DEFAULT: { class: handlers.talk.SmallTalk }")
        .replace("TRANSFER: transferFlow", "TRANSFER: flows.transferFlow")
        .replace("model: TransferState", "model: state.TransferState")
        .replace("completed: keepReceipt", "completed: { class: flows.keepReceipt }"),
      "handlers/talk/index.ts":
        "export class SmallTalk { async *run(turn: { message: string }) { return { message: turn.message }; } }",
    });

    const { flows } = await loadService(folder);

    expect(await flows["DEFAULT"]!({ message: "hi" } as TurnContext).next()).toEqual({
      done: true,
      value: { message: "hi" },
    });
  });

  test("a table of scenarios that names no flow is refused at its line", async () => {
    const table = "router: { transfer: TRANSFAR }";
    await write({ ...FULL, "service.yaml": YAML.replace(ROUTED, table) });

    expect(await problems()).toMatchObject([
      { line: 15, key: "flows.router.transfer", found: '"TRANSFAR"', allowed: "DEFAULT, TRANSFER" },
    ]);
  });

  test.each<[what: string, files: Record<string, string>, problem: Partial<Problem>]>([
    [
      "a class that no module exports",
      { "service.yaml": YAML.replace("class: Writer", "class: Writter") },
      {
        file: expect.stringMatching(/service\.yaml$/) as string,
        line: 11,
        column: 5,
        key: "agents.writer.class",
        found: '"Writter"',
        hint: 'did you mean "Writer"?',
      },
    ],
    [
      "a handler that no module exports",
      { "service.yaml": YAML.replace("TRANSFER: transferFlow", "TRANSFER: transferFlaw") },
      {
        line: 16,
        key: "flows.handlers.TRANSFER",
        found: '"transferFlaw"',
        hint: 'did you mean "transferFlow"?',
      },
    ],
    [
      "a handler that is something else",
      { "service.yaml": YAML.replace("DEFAULT: smallTalk", "DEFAULT: SlotAnswer") },
      {
        line: 16,
        key: "flows.handlers.DEFAULT",
        message: expect.stringMatching(
          /names the export "SlotAnswer" of .*schemas\.ts, which is no flow handler/,
        ) as string,
      },
    ],
    [
      "a schema of a card that no module exports",
      { "service.yaml": YAML.replace("schema: SlotAnswer", "schema: SlotAnswr") },
      {
        line: 9,
        key: "agents.slot.card.policy.schema",
        allowed: "TransferState, SlotAnswer",
        hint: 'did you mean "SlotAnswer"?',
      },
    ],
    [
      "a tool that no module exports",
      { "service.yaml": YAML.replace("[lookUp]", "[lookup2]") },
      {
        line: 9,
        key: "agents.slot.card.tools.0",
        found: '"lookup2"',
        allowed: ["calculator", "clock", ...Object.keys(teamTools), "lookUp"].join(", "),
      },
    ],
    [
      "an unknown key",
      { "service.yaml": YAML.replace("sessions:", "sesions:") },
      { line: 19, key: "sesions", message: 'unknown key "sesions"; did you mean "sessions"?' },
    ],
    [
      "a wrong value",
      { "service.yaml": YAML.replace("busy: merge", "busy: wait") },
      {
        line: 19,
        key: "sessions.busy",
        found: '"wait"',
        allowed: "queue, reject, interrupt, merge",
      },
    ],
    [
      "a card's file",
      {
        "agents/helper/card.json":
          '{\n  "llm": "offline",\n  "policy": {\n    "timout_sec": 5 }\n}',
      },
      {
        file: expect.stringMatching(/agents\/helper\/card\.json$/) as string,
        line: 4,
        column: 5,
        key: "policy.timout_sec",
        message: 'unknown key "timout_sec"; did you mean "timeoutSec"?',
      },
    ],
    [
      "a card that is not there",
      { "service.yaml": YAML.replace("helper: {}", "helper: { card: cards/helper.json }") },
      {
        line: 13,
        key: "agents.helper.card",
        found: '"cards/helper.json"',
        message: "names a file that does not exist",
      },
    ],
    [
      "a stream that its class cannot give",
      {
        "agents.ts": FULL["agents.ts"].replace(
          'async *stream() { yield parts.name; return { status: "success", data: "w" }; }',
          "async run() { return { status: 'success', data: 'w' }; }",
        ),
      },
      { line: 12, key: "agents.writer.stream", found: "true" },
    ],
    [
      "a module that throws",
      { "router.ts": "export const chooseFlow = 1;\nthrow new Error('no such bank');\n" },
      {
        file: expect.stringMatching(/router\.ts$/) as string,
        message: "cannot be loaded: no such bank",
      },
    ],
    [
      "an export of two modules",
      { "state.js": "", "tools.ts": `${FULL["tools.ts"]}\nexport const noEmpty = () => 'other';` },
      {
        file: expect.stringMatching(/tools\.ts$/) as string,
        key: "noEmpty",
        message: expect.stringMatching(/is exported by .*validators\.ts too/) as string,
      },
    ],
    [
      "two definitions",
      { "project.yaml": "name: x" },
      { message: "stands beside project.yaml; a service has one definition" },
    ],
    [
      "broken syntax",
      { "service.yaml": "name: x\nagents: [\n" },
      {
        file: expect.stringMatching(/service\.yaml$/) as string,
        line: expect.any(Number) as number,
      },
    ],
  ])("names file, line and key for %s", async (_what, files, problem) => {
    await write({ ...FULL, ...files });

    expect(await problems()).toContainEqual(expect.objectContaining(problem));
  });

  test("reports problems of several files together", async () => {
    await write({
      ...FULL,
      "service.yaml": YAML.replace("class: Writer", "class: Writter").replace(
        "router: chooseFlow",
        "router: choseFlow",
      ),
      "agents/helper/card.json": '{ "llm": "openia:x" }',
    });

    expect((await problems()).map(({ key }) => key)).toEqual([
      "agents.writer.class",
      "flows.router",
      "llm",
    ]);
  });

  test("a folder without a service says so", async () => {
    await expect(loadService(folder)).rejects.toMatchObject({
      code: "SERVICE_MISSING",
      hint: expect.stringContaining("dure new service") as string,
    });
  });
});

describe("dure check", () => {
  const scan = (text: string, agents?: string[]): string[] =>
    scanHandlers([{ file: "flows.ts", text }], agents).map(
      ({ line, key, message }) => `${line} ${key} ${message.split(" gives")[0]}`,
    );

  test("finds in a handler what is not repeatable, with what to call instead", () => {
    const found = scanHandlers([
      {
        file: "flows.ts",
        text: "export const answer = flow(async (turn) => {\n  if (Date.now() % 2) return turn.done({ message: 'odd' });\n  return turn.done({ message: 'even' });\n});",
      },
    ]);

    expect(found).toEqual([
      {
        file: "flows.ts",
        line: 2,
        column: 7,
        key: "answer",
        message: "Date.now() gives another answer when the turn is replayed after a crash",
        hint: "Call turn.now()",
      },
    ]);
  });

  test.each([
    ["new Date()", "new Date()"],
    ["Math . random()", "Math . random()"],
    ["crypto.randomUUID()", "crypto.randomUUID()"],
    ["performance.now()", "performance.now()"],
    ["await fetch('https://a.example')", "fetch()"],
    ["await new Promise((go) => setTimeout(go, 5))", "setTimeout()"],
    ["`${Date.now()} ms`", "Date.now()"],
    ["Temporal.Now.instant()", "Temporal.Now"],
  ])("finds %s in a generator handler, a method and a flow", (code, shown) => {
    expect(
      scan(
        `async function* handler(turn) {\n  const x = ${code};\n  return { message: String(x) };\n}`,
      ),
    ).toEqual([`2 handler ${shown}`]);
    expect(
      scan(
        `class Flows {\n async *method(turn: Turn): AsyncGenerator<Event, { a: 1 }> {\n  const x = ${code}; } }`,
      ),
    ).toEqual([`3 method ${shown}`]);
    expect(
      scan(
        `export default defineService({ flows: { DEFAULT: flow(async (turn) => { const x = ${code};\n return x; }) } });`,
      ),
    ).toEqual([`1 DEFAULT ${shown}`]);
  });

  test.each([
    [
      "a comment or a text",
      "async function* h(turn) { // Date.now()\n const a = 'Date.now()', b = /Math.random()/, c = `fetch(1) ${turn.id} Math.random()`; return a / b / c; }",
    ],
    [
      "a step, whose result is recorded",
      "const h = flow(async (turn) => { const at = await turn.step('time', () => Date.now()); return turn.step<string>('get', async () => (await fetch('x')).text()); });",
    ],
    [
      "a date of a given time",
      "const h = flow(async (turn) => ({ message: new Date(turn.now()).toISOString() + prefetch(1) + turn.fetch('a') + myDate.now() }));",
    ],
    [
      "code outside of handlers",
      "export const startedAt = Date.now();\nexport function clock() { return Date.now(); }\nconst h = flow(async (turn) => turn.done({ message: 'hi' }));",
    ],
    [
      "a tool, which runs outside the replay",
      "const h = flow(async (turn) => turn.call('t', tool({ execute: () => fetch('x') }), {}, { key: [1] }));",
    ],
  ])("leaves alone %s", (_what, text) => {
    expect(scan(text)).toEqual([]);
  });

  test("follows what a handler calls, in other files too, and names the handler", () => {
    const found = scanHandlers([
      {
        file: "flows.ts",
        text: "import { greet } from '../words.ts';\nexport async function* hello(turn) { return { message: greet(turn.message) }; }",
      },
      {
        file: "words.ts",
        text: "const hour = (): number => new Date().getHours();\nexport const greet = (name: string) => `${hour() < 12 ? 'Good morning' : 'Hello'} ${name}`;\nexport const unused = () => Math.random();",
      },
    ]);

    expect(found).toEqual([
      expect.objectContaining({
        file: "words.ts",
        line: 1,
        column: 28,
        key: "hour",
        message:
          "new Date() gives another answer when the turn is replayed after a crash, called by the handler hello",
      }),
    ]);
  });

  test.each([
    ["memory.addUserMessage(turn.message);", "addUserMessage()"],
    ["memory.add_user(turn.message);", "add_user()"],
    ["turn.remember(turn.message);", "turn.remember(turn.message)"],
    ["updateMemory(turn, turn.message);", "updateMemory(turn, turn.message)"],
    ["await turn.agent('a', 'b', { context: turn.message });", "context: turn.message"],
  ])("finds that %s adds the person's message a second time", (code, what) => {
    const text = `const h = flow(async (turn) => {\n  ${code}\n});`;

    expect(scanHandlers([{ file: "flows.ts", text }])).toMatchObject([
      {
        code: "USER_MESSAGE_TWICE",
        line: 2,
        key: "h",
        message: `${what} adds the person's message, which the engine adds: it is read twice`,
        hint: expect.stringContaining("Remove it") as string,
      },
    ]);
  });

  test("finds the person's message beside what buildMessages gives an agent that is code", () => {
    const text = `customAgent({ async run(context) {
  const messages = [...context.buildMessages().messages];
  messages.push({ role: "user", text: context.message });
  messages.push({ role: "user", text: "Go on." }, { role: "assistant", text: said.message });
} });`;

    expect(scanHandlers([{ file: "agents.ts", text }])).toMatchObject([
      { code: "USER_MESSAGE_TWICE", line: 3 },
    ]);
  });

  test.each([
    ["'주문할까요?'", "주문할까요?"],
    ["isEmpty ? 'odd' : `Sent ${amount} won.`", "Sent ${amount} won."],
    ['"All is sold"', "All is sold"],
  ])("warns of the text for people %s in a flow", (said, found) => {
    const text = `const h = flow(async (turn) => turn.done({ message: ${said}, nextAction: 'ASK' }));`;

    expect(scanHandlers([{ file: "flows.ts", text }])).toMatchObject([
      { code: "TEXT_IN_FLOW", level: "warning", line: 1, found: JSON.stringify(found) },
    ]);
  });

  test.each([
    ["an answer as memory keeps it", "flows.ts", "turn.remember(answer.message);"],
    ["facts beside the question", "flows.ts", "turn.agent('a', 'b', { context: facts.message });"],
    ["a text by its language", "flows.ts", "turn.done({ message: texts[turn.locale].sent(n) });"],
    ["a name", "flows.ts", "turn.done({ message: 'odd' });"],
    ["the file of the texts", "messages.ko.ts", "turn.done({ message: '보냈어요.' });"],
  ])("takes no offence at %s", (_what, file, code) => {
    expect(scanHandlers([{ file, text: `const h = flow(async (turn) => { ${code} });` }])).toEqual(
      [],
    );
  });

  test("finds an agent that the service does not have", () => {
    const text =
      "const h = flow(async (turn) => {\n  await turn.agent('helpr', 'x');\n  await runAgent(turn, 'intent');\n  yield* streamAgentTurn(turn, \"writer\", 'y');\n});";

    expect(scanHandlers([{ file: "flows.ts", text }], ["helper", "intent"])).toEqual([
      expect.objectContaining({ line: 2, found: '"helpr"', hint: 'did you mean "helper"?' }),
      expect.objectContaining({ line: 4, found: '"writer"', allowed: "helper, intent" }),
    ]);
  });

  test("reports definition and handlers of a folder in one list", async () => {
    await write({
      ...FULL,
      "service.yaml": FULL["service.yaml"].replace("busy: merge", "busy: wait"),
      "flows.ts": `${FULL["flows.ts"]}\nexport const late = async function* (turn: { message: string }) {\n  return { message: String(Math.random()) };\n};`,
    });

    const { problems: found, name } = await checkService(folder);

    expect(name).toBeUndefined();
    expect(found.map(({ file, line, key }) => `${path.basename(file)}:${line} ${key}`)).toEqual([
      "service.yaml:19 sessions.busy",
      "flows.ts:7 late",
    ]);
  });

  test("is silent about a service without a problem", async () => {
    await write(FULL);

    expect(await checkService(folder)).toMatchObject({ name: "transfer", problems: [] });
  });
});

describe("services that a configuration imports", () => {
  const handler = (answer: string) => `import { defineService, flow } from "dure";
import { answer } from "./words.js";
export default defineService({ name: "beside", agents: {}, flows: {
  DEFAULT: flow(async (turn) => turn.done(${answer})),
} });
`;
  const config = `import beside from "./service.ts";
import other from "./services/other/service.ts";
// import gone from "./gone.ts";
export default { services: { beside, other } };
`;

  test("a service beside the configuration is checked, and so is what it imports", async () => {
    await write({
      "dure.config.ts": config,
      "service.ts": handler("answer()"),
      "words.ts": "export function answer() { return String(Math.random()); }",
      "services/other/service.ts": handler("String(Date.now())"),
    });

    const checked = await checkImportedServices(path.join(folder, "dure.config.ts"), [
      path.join(folder, "services", "other"),
    ]);

    expect(checked).toMatchObject([
      { folder, problems: [{ file: "transfer/words.ts", line: 1, hint: "Call turn.random()" }] },
    ]);
  });

  test("a configuration that makes a service itself is checked once", async () => {
    await write({
      "dure.config.ts": handler("String(Date.now())").replace("./words.js", "./missing.js"),
    });

    const checked = await checkImportedServices(path.join(folder, "dure.config.ts"), []);

    expect(checked).toMatchObject([{ problems: [{ line: 4, hint: "Call turn.now()" }] }]);
  });

  test("a configuration without a service in code has none to check", async () => {
    await write({ "dure.config.ts": "export default { agents: { mina: {} } };\n" });

    expect(await checkImportedServices(path.join(folder, "dure.config.ts"), [])).toEqual([]);
  });
});
