// @module-tag slow
import { createOpenAI } from "@ai-sdk/openai";
import { generateText } from "ai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { testDatabase, type TestDatabase } from "../../src/durable/test-database.ts";
import { openAiClient } from "../openai/client.ts";
import { startPayingTeam, Till, type PayingTeam } from "./paying-team.ts";
import type { FailPoint } from "./paying.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(async () => database?.[Symbol.asyncDispose]());

/** Asks once with the client's own retries; gives the status of the answer. */
type Client = (team: PayingTeam, content: string, requests: Counting) => Promise<number>;

/** Counts what a client sends, to one team or in turn to several. */
interface Counting {
  readonly fetch: typeof fetch;
  readonly statuses: number[];
}

function counting(teams: readonly PayingTeam[]): Counting {
  const statuses: number[] = [];
  return {
    statuses,
    fetch: async (input, init) => {
      const { pathname } = new URL(input instanceof Request ? input.url : input);
      const answer = await fetch(teams[statuses.length % teams.length]!.url + pathname, init);
      statuses.push(answer.status);
      return answer;
    },
  };
}

const statusOf = (error: unknown): number => {
  const { status, statusCode, lastError } = error as {
    readonly status?: number;
    readonly statusCode?: number;
    readonly lastError?: { readonly statusCode?: number };
  };
  return status ?? statusCode ?? lastError?.statusCode ?? 0;
};

const CLIENTS: Readonly<Record<string, Client>> = {
  "OpenAI's client": async ({ url, token }, content, { fetch: send }) => {
    const given = { apiKey: token, baseURL: `${url}/openai/v1`, fetch: send };
    const client = await openAiClient(given);
    const body = { model: "till", messages: [{ role: "user", content }] };
    return client.chat.completions.create(body).then(() => 200, statusOf);
  },
  "the AI SDK": async ({ url, token }, content, { fetch: send }) => {
    const openai = createOpenAI({ apiKey: token, baseURL: `${url}/openai/v1`, fetch: send });
    const asked = { model: openai.chat("till"), prompt: content };
    return generateText(asked).then(() => 200, statusOf);
  },
  "a client that repeats all but 400 to 407 and 413, as LangChain does": async (
    { url, token },
    content,
    { fetch: send },
  ) => {
    for (let attempt = 1; ; attempt++) {
      const { status } = await send(`${url}/openai/v1/chat/completions`, asked(token, content));
      const isFinal = status < 408 || status === 413;
      if (isFinal || attempt === 7) return status;
    }
  },
};

function asked(token: string, content: string, body: object = {}): RequestInit {
  return {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "till", messages: [{ role: "user", content }], ...body }),
  };
}

let words = 0;
const order = (): string => `pay ${++words}`;

interface Answer {
  readonly status: number;
  readonly turn: string | null;
  readonly body: {
    readonly error?: { readonly code: string; readonly message: string };
    readonly choices?: readonly { readonly message: { readonly content: string } }[];
  };
}

async function ask({ url, token }: PayingTeam, content: string, body?: object): Promise<Answer> {
  const answer = await fetch(`${url}/openai/v1/chat/completions`, asked(token, content, body));
  const turn = answer.headers.get("turn-id");
  return { status: answer.status, turn, body: (await answer.json()) as Answer["body"] };
}

function stream({ url, token }: PayingTeam, content: string): Promise<Response> {
  return fetch(`${url}/openai/v1/chat/completions`, asked(token, content, { stream: true }));
}

describe.each(Object.entries(CLIENTS))("%s with its own retries", (_name, client) => {
  test.each<[FailPoint, number, number]>([
    ["after", 401, 400],
    ["after", 503, 400],
    ["after", 402, 402],
    ["in", 500, 400],
  ])("pays once where the turn fails %s the effect (%i)", async (point, status, told) => {
    const till = new Till(point, status);
    await using team = await startPayingTeam(database, till);
    await using other = await startPayingTeam(database, till);
    const requests = counting([team, other]);

    expect(await client(team, order(), requests)).toBe(told);
    expect(till.booked).toHaveLength(1);
    expect(requests.statuses).toEqual([told]);
  });

  test("asks once where the provider refuses the key before the effect", async () => {
    const till = new Till("before", 401);
    await using team = await startPayingTeam(database, till);
    const requests = counting([team]);

    expect(await client(team, order(), requests)).toBe(400);
    expect([till.booked.length, requests.statuses.length]).toEqual([0, 1]);
  });

  test("pays once where the first try fails before the effect and the next does not", async () => {
    const till = new Till("before", 503, 1);
    await using team = await startPayingTeam(database, till);
    const requests = counting([team]);

    expect(await client(team, order(), requests)).toBe(200);
    expect(till.booked).toHaveLength(1);
    expect(requests.statuses).toEqual([503, 200]);
  });
});

describe("a request without a session or key that comes again", () => {
  test("joins the turn that runs, at any process, and has one answer", async () => {
    const { promise: isOpen, resolve: open } = Promise.withResolvers<void>();
    const { promise: isAsked, resolve: note } = Promise.withResolvers<void>();
    const till = new Till("after", 401, 0);
    till.wait = async () => (note(), isOpen);
    await using team = await startPayingTeam(database, till);
    await using other = await startPayingTeam(database, till);
    const words = order();

    const first = ask(team, words);
    await isAsked;
    const second = ask(other, words);
    const third = ask(team, words);
    // Their heads come while the turn runs.
    const streams = await Promise.all([stream(team, words), stream(other, words)]);
    open();
    const answers = await Promise.all([first, second, third]);
    await Promise.all(streams.map((answer) => answer.text()));

    const turns = streams.map(({ headers }) => headers.get("turn-id"));
    expect(new Set([...turns, ...answers.map(({ turn }) => turn)]).size).toBe(1);
    expect(answers.map(({ body }) => body.choices?.[0]?.message.content)).toEqual(
      Array.from({ length: 3 }, () => "Paid."),
    );
    expect(till.booked).toEqual([words]);
  });

  test("has the recorded answer where the turn paid, also after a restart", async () => {
    const till = new Till();
    const words = order();
    const first = await (async () => {
      await using team = await startPayingTeam(database, till);
      return await ask(team, words);
    })();
    await using team = await startPayingTeam(database, till);

    expect(await ask(team, words)).toEqual(first);
    expect(till.booked).toEqual([words]);
  });

  test("has the recorded failure with its code, and is told that something was done", async () => {
    const till = new Till("after");
    await using team = await startPayingTeam(database, till);
    const words = order();
    const first = await ask(team, words);
    const second = await ask(team, words);

    expect(second).toEqual(first);
    expect(first).toMatchObject({ status: 400, body: { error: { code: "MODEL_UNAUTHORIZED" } } });
    expect(first.body.error?.message).toContain("Some of it was done before it failed");
  });

  test("is another turn where the first has only talked", async () => {
    const till = new Till();
    await using team = await startPayingTeam(database, till);

    const [first, second] = [await ask(team, "hello"), await ask(team, "hello")];

    expect(first.turn).not.toBe(second.turn);
    expect(till.calls).toBe(2);
  });

  test("is another turn after the window, with other words, and where the team wants none", async () => {
    const till = new Till();
    await using team = await startPayingTeam(database, till);
    await using off = await startPayingTeam(database, till, { repeats: "0s" });
    const words = order();
    await ask(team, words);
    await ask(team, order());
    await ask(off, words);
    await database.database.query({
      text: "update dure.turns set finished_at = finished_at - interval '10 minutes'",
    });
    await ask(team, words);

    expect(till.booked.filter((payee) => payee === words)).toHaveLength(3);
  });
});

describe("a request of a named session without a key", () => {
  test("is said twice by a person whose first one was answered", async () => {
    const till = new Till();
    await using team = await startPayingTeam(database, till);
    const user = { user: `u-${++words}` };

    await ask(team, "pay again", user);
    await ask(team, "pay again", user);

    expect(till.booked).toHaveLength(2);
  });

  test("gets the recorded failure of a turn that paid, until something else is said", async () => {
    const till = new Till("after", 401, 1);
    await using team = await startPayingTeam(database, till);
    const user = { user: `u-${++words}` };
    const first = await ask(team, "pay now", user);
    const second = await ask(team, "pay now", user);
    await ask(team, "what happened?", user);
    const third = await ask(team, "pay now", user);

    expect(second).toEqual(first);
    expect([first.status, third.status]).toEqual([400, 200]);
    expect(till.booked).toHaveLength(2);
  });
});
