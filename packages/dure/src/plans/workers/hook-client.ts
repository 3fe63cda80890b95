import { request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import type { Readable, Writable } from "node:stream";
import { type Clock, withTimeout } from "../../kernel/clock.ts";
import { DureError, messageOf } from "../../kernel/errors.ts";
import { isObject, onlyDefined } from "../../kernel/json.ts";
import { toWire } from "../../kernel/wire.ts";
import type { HookAccess, HookFeedbackTaken } from "../../wire/hooks.ts";
import { headOf } from "./bounded-text.ts";
import { parseTestFeedback } from "./feedback.ts";
import type { AccessRequest } from "./worker.ts";

/** Bytes of a report. */
const MAX_INPUT = 4_000_000;
/** The run answers from its memory. */
const ANSWER_MS = 10_000;
/** The partner works for its answer; the run waits for it 150 s. */
const PARTNER_MS = 180_000;

/**
 * `dure hook test-feedback`: takes a report of tests on `stdin`, hands it to the run of the worker
 * that it is called in, and writes `{decision, notifications}` to `stdout`. The address and token come from `DURE_HOOK_URL`
 * and `DURE_HOOK_TOKEN`, which workers get. Throws `HOOK_OUTSIDE`, `HOOK_INPUT_INVALID`,
 * `TEST_FEEDBACK_INVALID`, `HOOK_FAILED`.
 */
export async function sendTestFeedback(
  options: HookCaller & { readonly stdin: Readable; readonly stdout: Writable },
): Promise<HookFeedbackTaken> {
  const { stdin, stdout } = options;
  const hook = hookOf(options);
  const answer = readAnswer(
    await hook("test-feedback", parseTestFeedback(await readInput(stdin)), ANSWER_MS),
  );
  stdout.write(`${JSON.stringify(answer)}\n`);
  return answer;
}

/**
 * `dure hook ask`: the answer of the other member of the pair. Throws `HOOK_OUTSIDE`,
 * `HOOK_FAILED`.
 */
export async function askPartner(
  options: HookCaller & { readonly question: string },
): Promise<string> {
  const answer = await hookOf(options)("ask", { question: options.question }, PARTNER_MS);
  if (!isObject(answer) || typeof answer["answer"] !== "string") {
    throw new DureError("HOOK_FAILED", "The run's answer has no words.", { class: "unavailable" });
  }
  return answer["answer"];
}

/**
 * `dure hook request-access`: what the operator was asked, and whether the path is the worker's.
 * Throws `HOOK_OUTSIDE`, `HOOK_FAILED`.
 */
export async function requestPath(
  options: HookCaller & { readonly request: AccessRequest },
): Promise<HookAccess> {
  const answer = await hookOf(options)("request-access", options.request, ANSWER_MS);
  if (!isObject(answer) || typeof answer["granted"] !== "boolean") {
    throw new DureError(
      "HOOK_FAILED",
      "The run's answer does not say whether the path was granted.",
      { class: "unavailable" },
    );
  }
  return {
    granted: answer["granted"],
    note: typeof answer["note"] === "string" ? answer["note"] : "",
  };
}

interface HookCaller {
  /** `DURE_HOOK_URL` and `DURE_HOOK_TOKEN`, which workers get. */
  readonly url: string | undefined;
  readonly token: string | undefined;
  /** `DURE_HOOK_SOCKET`: the way to the run where the worker has a network of its own. */
  readonly socket: string | undefined;
  readonly clock: Clock;
  readonly signal?: AbortSignal;
}

/**
 * Posts to one of the hooks of the run; `DURE_HOOK_URL` names the one for reports of tests, the
 * others stand beside it.
 */
function hookOf({
  url,
  token,
  socket,
  clock,
  signal,
}: HookCaller): (name: string, body: unknown, answerMs: number) => Promise<unknown> {
  if (!url || !token) {
    throw new DureError(
      "HOOK_OUTSIDE",
      "This is not called by a worker of a plan: DURE_HOOK_URL and DURE_HOOK_TOKEN are not set.",
      { class: "input", hint: "Call it from the commands of a worker; there both are set." },
    );
  }
  return (name, body, answerMs) =>
    withTimeout(
      clock,
      { ms: answerMs, signal },
      () =>
        new DureError("HOOK_FAILED", `The run did not answer within ${answerMs} ms.`, {
          class: "unavailable",
        }),
      (inner) => post({ url: new URL(name, url), token, socket }, body, inner),
    );
}

async function readInput(stdin: Readable): Promise<unknown> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stdin as AsyncIterable<Buffer | string>) {
    const part = Buffer.from(chunk);
    bytes += part.length;
    if (bytes > MAX_INPUT) {
      throw new DureError("HOOK_INPUT_INVALID", `The report is longer than ${MAX_INPUT} bytes.`, {
        class: "input",
        hint: "Send the failing tests and the numbers, not the whole output.",
      });
    }
    chunks.push(part);
  }
  const text = Buffer.concat(chunks).toString("utf8");
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw new DureError(
      "HOOK_INPUT_INVALID",
      text.trim() === ""
        ? "There is no report on the standard input."
        : "What stands on the standard input is no JSON.",
      {
        class: "input",
        cause: error,
        hint: "Pipe the report into it: my-test-tool --json | dure hook test-feedback.",
      },
    );
  }
}

interface Way {
  readonly url: URL;
  readonly token: string;
  readonly socket: string | undefined;
}

async function post(
  { url, token, socket }: Way,
  body: unknown,
  signal: AbortSignal,
): Promise<unknown> {
  let answer: { readonly status: number; readonly text: string };
  try {
    answer = await send({ url, token, socket }, JSON.stringify(toWire(body)), signal);
  } catch (error) {
    signal.throwIfAborted();
    throw new DureError(
      "HOOK_FAILED",
      `The run cannot be reached at ${url.href}: ${messageOf(error)}.`,
      { class: "unavailable", cause: error },
    );
  }
  const { status, text } = answer;
  if (status !== 200) {
    throw new DureError("HOOK_FAILED", `The run answered ${status}: ${headOf(text, 500)}`, {
      class: status === 401 ? "unauthorized" : "unavailable",
    });
  }
  return parsed(text);
}

/** Bytes of an answer. Source: what a partner may say, and room for the rest. */
const MAX_ANSWER = 1_000_000;

/** By Node's own client: `fetch` takes no Unix socket. Follows nothing. */
function send(
  { url, token, socket }: Way,
  body: string,
  signal: AbortSignal,
): Promise<{ status: number; text: string }> {
  const headers = {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(body),
    authorization: `Bearer ${token}`,
  };
  const ask = url.protocol === "https:" ? requestHttps : requestHttp;
  return new Promise((resolve, reject) => {
    const asked = ask(
      url,
      { method: "POST", headers, signal, agent: false, ...onlyDefined({ socketPath: socket }) },
      (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (chunk: string) => {
          text += chunk;
          if (text.length > MAX_ANSWER) response.destroy(new Error("the answer is too long"));
        });
        response
          .once("error", reject)
          .once("end", () => resolve({ status: response.statusCode ?? 0, text }));
      },
    );
    asked.once("error", reject).end(body);
  });
}

const DECISIONS = ["accept", "retry", "escalate"] as const satisfies readonly Decision[];
type Decision = HookFeedbackTaken["decision"];

function readAnswer(answer: unknown): HookFeedbackTaken {
  const said = isObject(answer) ? answer : {};
  const decision = DECISIONS.find((one) => one === said["decision"]);
  if (decision === undefined) {
    throw new DureError("HOOK_FAILED", "The run's answer has no decision.", {
      class: "unavailable",
    });
  }
  const notifications = Array.isArray(said["notifications"])
    ? said["notifications"].filter((one): one is string => typeof one === "string")
    : [];
  return { decision, notifications };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
