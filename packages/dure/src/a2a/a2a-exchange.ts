import type { FastifyReply, FastifyRequest } from "fastify";
import { DureError } from "../kernel/errors.ts";
import { closedSignal, unlessClosing } from "../server/conversation-routes.ts";
import type { ServerParts } from "../server/server.ts";
import { answerWithStream } from "../server/stream-answer.ts";
import { viewerOf } from "../server/tenants.ts";
import type { WebHandler } from "../server/web-handler.ts";
import type { A2aSend } from "../wire/a2a.ts";
import type { A2aDesk } from "./a2a-desk.ts";
import { notCancelable, taskOver } from "./a2a-error.ts";
import { isTerminal, lastOf, questionOf, type StoredTask, type TaskJson } from "./a2a-task.ts";
import { A2A_VERSION } from "./agent-card.ts";
import { TaskTeller, tellTask, type StreamJson } from "./task-stream.ts";

/** One request in either binding. */
export interface Exchange {
  readonly parts: ServerParts;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly web: WebHandler;
  readonly desk: A2aDesk;
  /** How one event of a stream is written. */
  readonly frame: (event: StreamJson) => string;
}

/** Waits for the end of the turn, or for nothing. Undefined: the caller has left. */
export async function sendMessage(
  exchange: Exchange,
  asked: A2aSend,
): Promise<{ task: TaskJson } | undefined> {
  const { desk, request } = exchange;
  const { turnId, taskId } = await desk.send(asked);
  request.turnId = turnId;
  const { returnImmediately, historyLength } = asked.configuration ?? {};
  const isEnded = returnImmediately === true || (await hasEnded(exchange, turnId));
  if (!isEnded) return undefined;

  return { task: await desk.task(taskId, historyLength ?? undefined) };
}

/** False: the caller has left; the turn goes on. */
async function hasEnded({ parts, request, reply }: Exchange, turnId: string): Promise<boolean> {
  const gone = closedSignal(reply.raw);
  const frames = parts.conversations.read(turnId, { caller: viewerOf(request), signal: gone });
  const ended = (async () => {
    for await (const { event } of frames) if (event.type === "DONE") return;
  })();
  try {
    await unlessClosing(ended, parts.closing, turnId);
    return true;
  } catch (error) {
    if (gone.aborted) return false;
    throw error;
  }
}

export async function streamMessage(exchange: Exchange, asked: A2aSend): Promise<void> {
  const { turnId, taskId } = await exchange.desk.send(asked);
  const task = await exchange.desk.stored(taskId);

  await streamTask(exchange, task, turnId);
}

/** Throws `TASK_OVER` where nothing more comes. */
export async function subscribe(exchange: Exchange, id: string): Promise<void> {
  const task = await exchange.desk.stored(id);
  const state = exchange.desk.stateOf(task);
  if (isTerminal(state)) throw taskOver(state);

  await streamTask(exchange, task, lastOf(task).id);
}

/** The task as it is, then what its turn says, then its state. */
async function streamTask(exchange: Exchange, task: StoredTask, turnId: string): Promise<void> {
  const { parts, request, reply, desk, frame } = exchange;
  const { conversations, clock } = parts;
  const told = { taskId: task.id, contextId: task.context, turnId };
  request.turnId = turnId;
  const first = await desk.task(task.id);

  await answerWithStream(parts, request, reply, {
    what: `task ${task.id}`,
    firstFrame: frame({ task: { ...first, artifacts: [] } }),
    fields: { turn: turnId },
    send: (stream) => {
      const options = { caller: viewerOf(request), signal: stream.signal };
      const frames = conversations.read(turnId, options);
      const teller = new TaskTeller(told);
      return tellTask({ frames, teller, task: () => desk.task(task.id, 0), frame, clock }, stream);
    },
  });
}

/** Stops the turn that runs, or takes back what was asked. Throws `TASK_NOT_CANCELABLE`. */
export async function cancelTask(exchange: Exchange, id: string): Promise<TaskJson> {
  const { desk } = exchange;
  const task = await desk.stored(id);
  const state = desk.stateOf(task);
  if (isTerminal(state)) throw notCancelable(`it is in ${state}`);
  const turn = lastOf(task);

  if (turn.status !== "done") await stopTurn(exchange, turn.id);
  else await takeBack(exchange, task);

  return desk.task(id, 0);
}

/** As a request to the API: it is written down who stopped it. */
async function stopTurn(exchange: Exchange, turnId: string): Promise<void> {
  const { web, request } = exchange;
  const stop = new Request(`http://localhost/v1/agent/turns/${turnId}/stop`, { method: "POST" });
  const answer = await web.fetch(stop, request.principal!);
  await answer.body?.cancel();
  if (answer.status === 409) throw notCancelable("it has just ended");
  if (!answer.ok) throw refusedStop(answer.status);

  await hasEnded(exchange, turnId);
}

function refusedStop(status: number): DureError {
  return new DureError("STOP_UNAVAILABLE", `The stop was answered with ${status}.`, {
    class: "unavailable",
    hint: "Cancel it again.",
    details: { retryAfterMs: 1_000 },
  });
}

async function takeBack({ parts, request }: Exchange, task: StoredTask): Promise<void> {
  const { decision, done } = lastOf(task);
  if (decision) throw notCancelable(`people decide on it: ${decision.title}`);
  const question = questionOf(done);
  if (question === null) throw notCancelable("it waits for words alone");

  const caller = viewerOf(request);
  await parts.conversations.takeBack(task.context, question, { caller });
}

/** Throws `VERSION_NOT_SPOKEN`. An absent version is 0.3. Source: A2A 1.0 §3.6. */
export function assertVersion({ headers, query }: FastifyRequest): void {
  const named = headers["a2a-version"] ?? (query as Record<string, unknown>)["A2A-Version"];
  if (typeof named === "string" && /^1(\.\d{1,3})?$/.test(named.trim())) return;

  const asked = typeof named === "string" && named !== "" ? named : "0.3";
  throw new DureError("VERSION_NOT_SPOKEN", `A2A ${asked.slice(0, 20)} is not spoken here.`, {
    class: "input",
    hint: `Send the header A2A-Version: ${A2A_VERSION}.`,
  });
}
