import { expect, test } from "vitest";
import { deedRequest, deliveryKey, fieldOutOfReach } from "./hook-deed.ts";

const KEY = deliveryKey("msg_1");
const message = (text: string | undefined, payload: unknown) =>
  (deedRequest({ kind: "message", room: "general", text }, KEY, payload).body as { text: string })
    .text;

test("each kind of deed is one request, with the delivery as its key", () => {
  const job = { kind: "job", agent: "ruda", target: "eden", text: "Look." } as const;

  expect(deedRequest({ kind: "message", room: "web:general", text: "Hi" }, KEY, {})).toEqual({
    path: "/v1/rooms/web%3Ageneral/messages",
    body: { text: "Hi", client_id: KEY },
  });
  expect(deedRequest(job, KEY, {})).toEqual({
    path: "/v1/jobs",
    body: { agent: "ruda", target: "eden", message: "Look.", wait_sec: 0 },
  });
  expect(deedRequest({ kind: "plan", plan: "release" }, KEY, {})).toEqual({
    path: "/v1/runs",
    body: { plan: "release" },
  });
});

test("values of the delivery stand in the text, on one line, and what is not there is a dash", () => {
  const payload = { ref: "main", commits: [{ by: "kim\n  lee" }], count: 2, none: null };

  expect(message("{{ref}} {{ commits.0.by }} {{count}}", payload)).toBe("main kim lee 2");
  expect(message("{{none}} {{missing.deep}} {{__proto__}} {{ref.length}}", payload)).toBe(
    "– – – –",
  );
});

test("a value cannot bring in another value, and is cut", () => {
  expect(message("{{a}}", { a: "{{b}}", b: "secret" })).toBe("{{b}}");
  expect(Buffer.byteLength(message("{{a}}", { a: "x".repeat(5_000) }))).toBeLessThan(510);
});

test("without a text the delivery is told as JSON, and cut", () => {
  expect(message(undefined, { ref: "main" })).toBe('{\n  "ref": "main"\n}');
  expect(Buffer.byteLength(message(undefined, "x".repeat(50_000)))).toBeLessThan(8_200);
});

test.each([
  ["{{ref}} of {{by.name}}", {}, undefined],
  ["{{ref}}", [1, 2], "ref"],
  ["{{0.ref}} {{ ref }}", [{}], "ref"],
  ["{{0.ref}} {{1}}", [], undefined],
  ["{{ref}}", "x", "ref"],
  ["{{ref}}", null, "ref"],
  ["Something came.", null, undefined],
  [undefined, [1, 2], undefined],
])("of the text %j and the body %j, out of reach is %j", (text, payload, field) => {
  expect(fieldOutOfReach({ kind: "message", room: "general", text }, payload)).toBe(field);
});
