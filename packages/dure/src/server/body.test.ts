import { expect, test } from "vitest";
import { startTestServer } from "./test-server.ts";

/** The code that answers a body with these slots, where three levels and eight values may be. */
async function codeFor(slots: unknown): Promise<string | undefined> {
  await using server = await startTestServer({ limits: { jsonDepth: 3, jsonValues: 8 } });
  const message = { session_id: "mina", message: "hello", slots };
  const answer = await server.post("/v1/agent/chat", message);
  return ((await answer.json()) as { code?: string }).code;
}

test.each([
  ["as deep as is allowed", "taken", { a: {} }],
  ["one level deeper", "refused", { a: { b: {} } }],
  ["a list one level deeper", "refused", { a: [[]] }],
  ["as many values as are allowed", "taken", { a: 1, b: 2, c: 3, d: 4, e: 5 }],
  ["one value more", "refused", { a: 1, b: 2, c: 3, d: 4, e: 5, f: 6 }],
  ["signs of JSON within a text", "taken", { a: '[[[[[[,,,,,,,,,\\"{{{{{' }],
] as const)("a body with %s is %s", async (_what, expected, slots) => {
  expect((await codeFor(slots)) === "BODY_TOO_COMPLEX" ? "refused" : "taken").toBe(expected);
});
