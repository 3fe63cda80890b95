import { expect, test } from "vitest";
import { Concealer } from "./concealer.ts";
import { withoutSecrets } from "./without-secrets.ts";
import type { Assignment, Worker, WorkerEvent, WorkerResult } from "./worker.ts";

const TOKEN = "hook_Aq3-shook_shook_sAq3";
const KEY = 'sk-live "quoted"/1';
const ENV = { DURE_HOOK_TOKEN: TOKEN, OPENAI_API_KEY: KEY, HOME: "/home/worker", PIN_KEY: "1234" };

/** What is stored of these events. */
async function stored(events: readonly WorkerEvent[]): Promise<readonly WorkerEvent[]> {
  const inner: Worker = {
    kind: "own",
    run: async function* () {
      yield* events;
    },
  };
  const worker = withoutSecrets(inner, [["SHOP_TOKEN", "shop-0123456789"]]);
  const assignment = { env: ENV } as unknown as Assignment;
  const { signal } = new AbortController();

  const seen: WorkerEvent[] = [];
  for await (const event of worker.run(assignment, { signal })) seen.push(event);

  return seen;
}

function piece(kind: "stdout" | "stderr" | "message" | "thought", text: string): WorkerEvent {
  return { type: "entry", entry: { kind, text } };
}

function wordsOf(events: readonly WorkerEvent[], kind: string): string {
  return events
    .map((event) => (event.type === "entry" && event.entry.kind === kind ? event.entry.text : ""))
    .join("");
}

const RESULT: WorkerResult = {
  status: "ready",
  summary: "",
  claimedFiles: [],
  tokens: { input: 0, output: 0 },
};
const end = (result: Partial<WorkerResult> = {}): WorkerEvent => ({
  type: "result",
  result: { ...RESULT, ...result },
});

test("a worker's secrets are in none of its words, wherever they are cut", async () => {
  const text = `TOKEN=${TOKEN}\nKEY=${KEY}\nSHOP=shop-0123456789\nHOME=/home/worker PIN=1234`;
  const seen = [
    "TOKEN=[DURE_HOOK_TOKEN]",
    "KEY=[OPENAI_API_KEY]",
    "SHOP=[SHOP_TOKEN]",
    "HOME=/home/worker PIN=1234",
  ].join("\n");

  for (let first = 0; first <= text.length; first++) {
    for (const length of [1, 7, text.length]) {
      const parts = [
        text.slice(0, first),
        text.slice(first, first + length),
        text.slice(first + length),
      ];
      // The other pipe writes between them.
      const events = parts.flatMap((part) => [piece("stdout", part), piece("stderr", "x")]);
      const all = await stored([...events, end()]);

      expect(wordsOf(all, "stdout"), `${first}, ${length}`).toBe(seen);
      expect(wordsOf(all, "stderr")).toBe("xxx");
    }
  }
});

test("what only begins like a secret comes in its order and whole", async () => {
  const events = [
    piece("message", "It works"),
    piece("thought", "Now the hook_"),
    { type: "entry", entry: { kind: "tool", title: "read", text: "a.ts" } },
    piece("message", "Done: hook_Aq3"),
    end(),
  ] as const;

  const all = await stored(events);

  const kinds = all.map((event) => (event.type === "entry" ? event.entry.kind : event.type));
  expect(wordsOf(all, "message")).toBe("It worksDone: hook_Aq3");
  expect(wordsOf(all, "thought")).toBe("Now the hook_");
  expect([...new Set(kinds)]).toEqual(["message", "thought", "tool", "result"]);
  expect(kinds.lastIndexOf("thought")).toBeLessThan(kinds.indexOf("tool"));
  expect(kinds.at(-1)).toBe("result");
});

test("every kind of event is stored without the secrets of its worker", async () => {
  const escaped = JSON.stringify({ key: KEY });
  const events: readonly WorkerEvent[] = [
    { type: "said", text: `I have ${TOKEN}.` },
    { type: "progress", progress: 0.5, currentTask: TOKEN, tokensUsed: 0, callsMade: 1 },
    { type: "entry", entry: { kind: "tool", title: `echo ${TOKEN}`, text: escaped } },
    {
      type: "violation",
      path: TOKEN,
      wanted: "write",
      because: "owned",
      detail: encodeURIComponent(KEY),
    },
    { type: "access", path: TOKEN, wants: "read", granted: false },
    end({
      summary: TOKEN,
      claimedFiles: [TOKEN],
      error: { code: "WORKER_FAILED", message: `It said ${TOKEN}` },
      feedback: {
        success: false,
        failedTests: [{ name: TOKEN }],
        metrics: { total: 1, passed: 0, failed: 1, durationMs: 0 },
        suggestions: [KEY],
      },
    }),
  ];

  const all = JSON.stringify(await stored(events));

  for (const secret of [TOKEN, KEY, JSON.stringify(KEY).slice(1, -1), encodeURIComponent(KEY)]) {
    expect(all).not.toContain(secret);
  }
  expect(all).toContain("[DURE_HOOK_TOKEN]");
});

test("a text that was cut within a secret does not end with a part of it", () => {
  const concealer = new Concealer(Object.entries(ENV));

  expect(concealer.conceal(`It is ${TOKEN.slice(0, 12)}…`)).toBe("It is [DURE_HOOK_TOKEN]");
  expect(concealer.conceal("It is a hook…")).toBe("It is a hook…");
});

test("no more is held back of a stream than one secret is long", () => {
  const stream = new Concealer(Object.entries(ENV)).inPieces();
  let [taken, given] = [0, 0];
  for (let round = 0; round < 1_000; round++) {
    const text = TOKEN.slice(0, 1 + (round % (TOKEN.length - 1)));
    taken += text.length;
    given += stream.push(text).length;
    expect(taken - given).toBeLessThan(TOKEN.length);
  }
});
