import { createHash } from "node:crypto";
import type { FastifyRequest } from "fastify";
import type { TurnRequest } from "../engine/api.ts";
import { DureError } from "../kernel/errors.ts";
import { sessionKey, sessionKeyFor } from "../kernel/tenant.ts";
import { boundsOf } from "../server/bounds.ts";
import { turnRequestOf, withUploads } from "../server/conversation-routes.ts";
import { callerOf } from "../server/guard.ts";
import { fileOfPart } from "../server/part-files.ts";
import type { Upload } from "../server/uploads.ts";
import { fieldError } from "../server/problem.ts";
import type { ServerParts } from "../server/server.ts";
import { viewOf } from "../server/tenants.ts";
import type { A2aList, A2aSend } from "../wire/a2a.ts";
import { taskOver, taskUnknown } from "./a2a-error.ts";
import {
  isTerminal,
  lastOf,
  questionOf,
  stateOf,
  TASK_STATES,
  taskJson,
  type Stages,
  type StoredTask,
  type TaskJson,
  type TaskState,
} from "./a2a-task.ts";
import type { PushDesk } from "./push-desk.ts";
import type { TaskRows } from "./task-rows.ts";

/** Turns of one task. */
const MAX_TURNS = 100;
/** Tasks of a page, where the client does not say. Source: A2A 1.0 §3.1.4. */
const PAGE = 50;

/** What is stored of A2A. */
export interface A2aStored {
  readonly tasks: TaskRows;
  readonly pushes: PushDesk;
}

/** A turn that was begun for a message. */
export interface BegunTask {
  readonly turnId: string;
  readonly taskId: string;
}

/** The tasks of one service for one caller. Each is a turn, and those that went on with it. */
export class A2aDesk {
  readonly #parts: ServerParts;
  readonly #rows: TaskRows;
  readonly #request: FastifyRequest;
  readonly #service: string;
  readonly pushes: PushDesk;

  /** Throws `SERVICE_UNKNOWN`. */
  constructor(parts: ServerParts, stored: A2aStored, request: FastifyRequest, service: string) {
    this.#parts = parts;
    this.#rows = stored.tasks;
    this.pushes = stored.pushes;
    this.#request = request;
    this.#service = service;
    assertService(parts, service);
  }

  /** The same message is the same turn, however often and at whichever process it comes. */
  async send(asked: A2aSend): Promise<BegunTask> {
    const begun = await this.#begin(asked);
    const push = asked.configuration?.taskPushNotificationConfig;
    if (push) await this.pushes.put(begun.taskId, push);

    return begun;
  }

  async #begin({ message, configuration }: A2aSend): Promise<BegunTask> {
    const { text, files } = saidIn(message, configuration?.acceptedOutputModes ?? []);
    const { messageId, taskId } = message;
    const bodyHash = hash(
      JSON.stringify([text, taskId ?? null, ...files.map(({ bytes }) => hash(bytes))]),
    );
    const before = taskId === undefined ? undefined : await this.stored(taskId);
    const session = this.#sessionOf(message, before);
    this.#request.sessionId = session;

    const { caller } = this.#request.principal!;
    const known = await this.#rows.message(sessionKey(caller.tenant, session), messageId);
    if (known && known.bodyHash !== bodyHash) throw keyReused();
    if (known) return known;

    this.#request.uploads = files;
    const said = this.#turnOf({ text, session, before, mayBeEmpty: files.length > 0 });
    const turn = await withUploads(this.#parts, this.#request, said);
    const key = `a2a-${hash(`${session} ${messageId}`)}`;
    // An agent that asks again gives the same words another id.
    const repeats = before || message.contextId !== undefined ? "session" : "caller";
    const options = { caller, key, path: "a2a", repeats } as const;
    const { turnId } = await this.#parts.conversations.accept(turn, options);
    const noted = { turnId, messageId, taskId, service: this.#service, bodyHash };

    return { turnId, taskId: await this.#rows.note(noted) };
  }

  /** A yes counts for the question of the task that is gone on with, and for no other. */
  #turnOf(said: {
    text: string;
    session: string;
    before: StoredTask | undefined;
    mayBeEmpty: boolean;
  }): TurnRequest {
    const { text: message, session, before, mayBeEmpty } = said;
    const body = { session_id: session, service: this.#service, message };
    const turn = turnRequestOf(body, boundsOf(this.#parts.limits), { mayBeEmpty });
    if (!before) return { ...turn, lastQuestion: null };

    const state = stateOf(before, this.stages);
    if (isTerminal(state)) throw taskOver(state);
    if (before.turns.length >= MAX_TURNS) throw taskOver(`its turn ${MAX_TURNS}, the last one`);

    return { ...turn, lastQuestion: questionOf(lastOf(before).done) };
  }

  #sessionOf(message: A2aSend["message"], before: StoredTask | undefined): string {
    const { contextId, messageId } = message;
    if (before && contextId !== undefined && contextId !== before.context) {
      throw fieldError("REQUEST_INVALID", "contextId", "is not the context of the task");
    }
    const named = before?.context ?? contextId;
    if (named === undefined) {
      const of = `${callerOf(this.#request).name} ${this.#service} ${messageId}`;
      return `a2a-${hash(of).slice(0, 32)}`;
    }
    if (!/^[A-Za-z0-9._:@-]{1,200}$/.test(named)) {
      const what = "must be 1–200 characters of A-Z a-z 0-9 . _ : @ -";
      throw fieldError("REQUEST_INVALID", "contextId", what);
    }

    return named;
  }

  async task(id: string, historyLength?: number): Promise<TaskJson> {
    return this.#told(await this.stored(id), { historyLength });
  }

  /** Throws `TASK_UNKNOWN`, also for one of another tenant or service. */
  async stored(id: string): Promise<StoredTask> {
    const task = await this.#rows.task(id, viewOf(this.#request), this.#service);
    if (!task) throw taskUnknown();
    return task;
  }

  stateOf(task: StoredTask): TaskState {
    return stateOf(task, this.stages);
  }

  async list(asked: A2aList): Promise<object> {
    const { contextId, pageToken, statusTimestampAfter, historyLength, includeArtifacts } = asked;
    const status = asked.status === undefined ? undefined : stateNamed(asked.status);
    const pageSize = asked.pageSize || PAGE;
    const view = viewOf(this.#request);
    const { ids, hasMore } = await this.#rows.list({
      view,
      service: this.#service,
      session: contextId === undefined ? undefined : sessionKeyFor(view, contextId),
      before: pageToken,
      changedAfter:
        statusTimestampAfter === undefined ? undefined : Date.parse(statusTimestampAfter),
      limit: pageSize,
    });
    const stored = await this.#rows.tasks(ids, view);
    const wanted = stored.filter((task) => status === undefined || this.stateOf(task) === status);
    const how = { historyLength: historyLength ?? 0, withArtifacts: includeArtifacts === true };

    return {
      tasks: wanted.map((task) => this.#told(task, how)),
      nextPageToken: hasMore ? ids.at(-1)! : "",
      pageSize,
      totalSize: wanted.length,
    };
  }

  get stages(): Stages {
    const found = this.#parts.conversations.describe().find(({ name }) => name === this.#service);

    return found?.stages;
  }

  #told(
    task: StoredTask,
    how: { historyLength?: number | undefined; withArtifacts?: boolean | undefined },
  ): TaskJson {
    const { protocol, host } = this.#request;
    return taskJson(task, { stages: this.stages, origin: `${protocol}://${host}`, ...how });
  }
}

/** Throws `SERVICE_UNKNOWN`. */
export function assertService({ conversations }: ServerParts, service: string): void {
  if (conversations.describe().some(({ name }) => name === service)) return;

  throw new DureError("SERVICE_UNKNOWN", `There is no service "${service}".`, {
    class: "not-found",
    hint: "GET /v1/services lists them.",
  });
}

/** Throws `NOT_SPOKEN` for what is neither text nor bytes. Pure. */
function saidIn(
  { parts }: A2aSend["message"],
  outputModes: readonly string[],
): { text: string; files: readonly Upload[] } {
  const isTextWanted = outputModes.every((mode) => !/^(text\/(plain|\*)|\*\/\*)$/.test(mode));
  if (outputModes.length > 0 && isTextWanted) {
    const what = "are not spoken; answers are text/plain";
    throw fieldError("NOT_SPOKEN", "acceptedOutputModes", what);
  }

  const pieces: string[] = [];
  const files: Upload[] = [];
  for (const { text, raw, filename: name } of parts) {
    if (typeof text === "string") pieces.push(text);
    else if (typeof raw === "string") files.push(fileOfPart({ data: raw, name, field: "parts" }));
    else throw fieldError("NOT_SPOKEN", "parts", "hold something else than text and bytes");
  }

  return { text: pieces.join("\n"), files };
}

function stateNamed(name: string): TaskState {
  const state = TASK_STATES.find((known) => known === name);
  if (state) return state;
  throw fieldError("REQUEST_INVALID", "status", "is no state that a task has here");
}

function keyReused(): DureError {
  return new DureError(
    "IDEMPOTENCY_KEY_REUSED",
    "A message with this messageId and other words was sent before.",
    { class: "input", hint: "Give each message an id of its own." },
  );
}

function hash(text: string | Uint8Array): string {
  return createHash("sha256").update(text).digest("hex");
}
