import type { JobAnswer } from "../wire/jobs.ts";
import { DureError } from "../kernel/errors.ts";
import { MAX_MESSAGE_FILES, type FileRef } from "../kernel/files.ts";
import { isAllowed, type AskRules } from "./allowlist.ts";
import type { ExchangeAgent } from "./exchange.ts";
import { decideIntent, turnsOf } from "./intent.ts";
import type { JobDetail } from "./job.ts";
import type { JobLimits } from "./limits.ts";
import { parsePayload, type JobPayload } from "./payloads.ts";
import { quotedPayload } from "./turn-message.ts";
import type { JobIntent } from "../kernel/jobs.ts";

/** A request of one agent to another. */
export interface AskRequest {
  /** The asking agent's id. */
  readonly requester: string;
  /** The asked agent's id; or `session`, for the agent that answers there. */
  readonly agent?: string | undefined;
  readonly session?: string | undefined;
  readonly message: string;
  /** How long to wait for the answer, seconds, 0 to 300. Default 30. */
  readonly waitSec?: number | undefined;
  readonly maxTurns?: number | undefined;
  readonly topic?: string | undefined;
  readonly conversationId?: string | undefined;
  readonly payload?: unknown;
  /** Names of files of the origin's session that go with it. Of one name the newest. */
  readonly files?: readonly string[] | undefined;
  /** Files that go with it in place of these, whichever sessions have them: the caller may read them. */
  readonly carried?: readonly FileRef[] | undefined;
  /** The same key gives the same job. */
  readonly key?: string | undefined;
  /**
   * Where it is asked; the place is told the result. A session of an exchange makes the job a child
   * of that one.
   */
  readonly origin?: { readonly session: string; readonly turn?: string | undefined } | undefined;
  /** Default: the tenant of the origin's session, else `""`. */
  readonly tenant?: string | undefined;
}

/**
 * What came of a request. `ok`: the exchange has ended; `reply` is its answer, `by` the agent whose
 * words they are. `accepted`: the request did not wait. `timeout`: it goes on, or has ended and was
 * asked for again too late; the place of origin is told the result.
 */
export type AskResult = JobAnswer;

/** What a request comes to, apart from who is asked. */
export interface ReadRequest {
  readonly payload: JobPayload | null;
  readonly topic: string | null;
  readonly intent: JobIntent;
  readonly maxTurns: number;
  /** The caller does not wait for an answer where none is needed. */
  readonly waitSec: number;
}

const MAX_WAIT_SEC = 300;
const WAIT_DEFAULT_SEC = 30;

/**
 * Throws `MESSAGE_INVALID`, `MESSAGE_TOO_LONG`, `WAIT_INVALID`, `TURNS_INVALID`, `REQUEST_INVALID`,
 * `PAYLOAD_INVALID`, `PAYLOAD_TOO_LONG`. Pure.
 */
export function readRequest(request: AskRequest, limits: JobLimits): ReadRequest {
  const { message, waitSec = WAIT_DEFAULT_SEC } = request;
  checkText(message, limits.messageBytes);
  checkWait(waitSec);
  checkTurns(request.maxTurns, limits.maxTurns);
  checkPlain("topic", request.topic, 200);
  checkPlain("conversationId", request.conversationId, 100);
  checkPlain("key", request.key, 400);
  const payload = readPayload(request.payload, limits.payloadBytes);
  const { intent } = decideIntent({ message, payload: payload ?? undefined });
  const maxTurns = turnsOf(intent, request.maxTurns, limits.collaborationTurns);
  return {
    payload,
    topic: request.topic?.trim() ?? null,
    intent,
    maxTurns,
    waitSec: maxTurns === 0 ? 0 : waitSec,
  };
}

function checkWait(waitSec: number): void {
  if (Number.isFinite(waitSec) && waitSec >= 0 && waitSec <= MAX_WAIT_SEC) return;
  throw new DureError("WAIT_INVALID", `waitSec is ${waitSec}.`, {
    class: "input",
    hint: `Wait 0 to ${MAX_WAIT_SEC} seconds; 0 returns at once.`,
  });
}

function checkTurns(turns: number | undefined, most: number): void {
  if (turns === undefined) return;
  if (Number.isInteger(turns) && turns >= 0 && turns <= most) return;
  throw new DureError("TURNS_INVALID", `maxTurns is ${turns}.`, {
    class: "input",
    hint: `A whole number from 0 to ${most}.`,
  });
}

function checkPlain(name: string, text: string | undefined, most: number): void {
  if (text === undefined) return;
  const isEmpty = text.trim() === "";
  if (!isEmpty && text.length <= most && !/\p{Cc}/u.test(text)) return;
  throw new DureError(
    "REQUEST_INVALID",
    `${name} is ${isEmpty ? "empty" : "too long or holds control characters"}.`,
    { class: "input", hint: `At most ${most} characters of plain text.` },
  );
}

/** Throws `JOB_SELF`, `JOB_NOT_ALLOWED`. Pure. */
export function checkPair(
  asking: ExchangeAgent,
  target: ExchangeAgent,
  rules: AskRules,
  agents: readonly ExchangeAgent[],
): void {
  if (target.id === asking.id) {
    throw new DureError("JOB_SELF", `${asking.displayName} cannot ask itself.`, {
      class: "input",
      hint: `Agents are: ${agents.map(({ id }) => id).join(", ")}.`,
    });
  }
  checkAllowed(rules, asking, target);
}

/** Throws `JOB_NOT_ALLOWED`. Pure. */
export function checkAllowed(
  rules: AskRules,
  asking: Pick<ExchangeAgent, "id" | "displayName">,
  target: Pick<ExchangeAgent, "id" | "displayName">,
): void {
  if (isAllowed(rules, asking.id, target.id)) return;
  throw new DureError(
    "JOB_NOT_ALLOWED",
    `${asking.displayName} may not ask ${target.displayName}.`,
    {
      class: "forbidden",
      hint: `Add "${asking.id} -> ${target.id}" to the team's list of who may ask whom.`,
    },
  );
}

/** Throws `MESSAGE_INVALID`, `MESSAGE_TOO_LONG`. Pure. */
export function checkText(text: string, bytesMost: number): void {
  if (text.trim() === "") {
    throw new DureError("MESSAGE_INVALID", "The message is empty.", {
      class: "input",
      hint: "Say what is wanted.",
    });
  }
  if (text.includes("\u0000") || !text.isWellFormed()) {
    throw new DureError(
      "MESSAGE_INVALID",
      "The message holds characters that cannot be stored (U+0000 or half of a surrogate pair).",
      { class: "input", hint: "Send plain text in UTF-8." },
    );
  }
  const bytes = Buffer.byteLength(text);
  if (bytes > bytesMost) {
    throw new DureError(
      "MESSAGE_TOO_LONG",
      `The message has ${bytes} bytes; ${bytesMost} are allowed.`,
      { class: "input", hint: "Send less at once." },
    );
  }
}

/** What the caller of a job that has ended is told; success only where there was some. Pure. */
export function resultOf(
  job: Pick<JobDetail, "jobId" | "status" | "outcome" | "lastError" | "answer" | "files">,
): AskResult {
  const { jobId } = job;
  if (job.status === "COMPLETED") {
    const { answer } = job;
    return {
      status: "ok",
      reply: answer?.text ?? "",
      how: answer?.how,
      by: answer?.by ?? null,
      files: givenFiles(job.files),
      jobId,
    };
  }
  return {
    status: "error",
    code: job.lastError?.code ?? `JOB_${job.status}`,
    hint: job.lastError?.message ?? `The job ended as ${job.outcome}.`,
    jobId,
  };
}

/** What the asked agent has made in its turns, the newest last. Undefined: nothing. Pure. */
function givenFiles(files: JobDetail["files"]): readonly FileRef[] | undefined {
  const made = new Map(
    files.filter(({ turn }) => turn % 2 === 1).map(({ turn: _turn, ...file }) => [file.id, file]),
  );
  return made.size === 0 ? undefined : [...made.values()].slice(-MAX_MESSAGE_FILES);
}

export function agentUnknown(id: string, agents: readonly ExchangeAgent[]): DureError {
  return new DureError("AGENT_UNKNOWN", `There is no agent "${id}".`, {
    class: "not-found",
    hint: `Agents are: ${agents.map((known) => known.id).join(", ") || "none"}.`,
  });
}

export function nobodyAsked(): DureError {
  return new DureError("AGENT_UNKNOWN", "No agent is asked.", {
    class: "input",
    hint: "Name an agent, or a session in which one answers.",
  });
}

/** The receiver sees all of it, or the caller gets the error that it does not fit. */
function readPayload(value: unknown, bytesMost: number): JobPayload | null {
  if (value === undefined || value === null) return null;
  const payload = parsePayload(value);
  const bytes = Buffer.byteLength(quotedPayload(payload));
  if (bytes > bytesMost) {
    throw new DureError(
      "PAYLOAD_TOO_LONG",
      `The payload has ${bytes} bytes as text; ${bytesMost} are allowed.`,
      { class: "input", hint: "Say what matters, and where the rest is to be found." },
    );
  }
  return payload;
}
