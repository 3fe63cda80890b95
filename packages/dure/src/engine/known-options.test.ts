import { expect, test } from "vitest";
import { z } from "zod";
import { tool } from "./agent/tool.ts";
import { defineService, flow } from "./service/service.ts";

/** As JavaScript, and TypeScript without its check, give them. */
const makeTool = (options: object) =>
  tool({
    description: "Opens a ticket.",
    inputSchema: z.object({}),
    execute: () => 1,
    ...options,
  });
const makeService = (options: object) =>
  defineService({
    name: "desk",
    agents: {},
    flows: { DEFAULT: flow(async () => ({ message: "" })) },
    ...options,
  });

test.each([
  [{ effect: "onec" }, 'effect cannot be "onec".', "Did you mean once?"],
  [{ setle: "2s" }, 'unknown option "setle".', "Did you mean settle?"],
  [{ recover: "guess" }, 'recover cannot be "guess".', "Known are: probe, replay, ask."],
  [
    { effect: "once", approval: { expire: "1h" } },
    'unknown option "expire".',
    "Did you mean expires?",
  ],
])("a tool with the options %j is refused", (options, message, hint) => {
  expect(() => makeTool(options)).toThrowError(
    expect.objectContaining({
      code: "TOOL_INVALID",
      message: `Tool "Opens a ticket.": ${message}`,
      hint,
    }) as Error,
  );
});

test.each([
  [{ flws: {} }, 'unknown option "flws".', "Did you mean flows?"],
  [{ sessions: { busy: "queued" } }, 'sessions.busy cannot be "queued".', "Did you mean queue?"],
  [{ toolCalls: "all" }, 'toolCalls cannot be "all".', "Known are: none, names, full."],
])("a service with the options %j is refused", (options, message, hint) => {
  expect(() => makeService(options)).toThrowError(
    expect.objectContaining({
      code: "SERVICE_INVALID",
      message: `Service "desk": ${message}`,
      hint,
    }) as Error,
  );
});

test("a service may be made of another one, and an option may be undefined", () => {
  const service = makeService({ title: undefined, unheardOf: undefined });

  expect(defineService({ ...service, name: "desk-2" })).toMatchObject({ name: "desk-2" });
});
