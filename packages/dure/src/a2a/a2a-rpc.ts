import { DureError } from "../kernel/errors.ts";
import { asDureError, problemOf, statusOf } from "../server/problem.ts";
import {
  A2aGet,
  A2aList,
  A2aNamedPush,
  A2aPushes,
  A2aPutPush,
  A2aRpc,
  A2aSend,
} from "../wire/a2a.ts";
import { rpcError } from "./a2a-error.ts";
import {
  cancelTask,
  sendMessage,
  streamMessage,
  subscribe,
  type Exchange,
} from "./a2a-exchange.ts";
import { noExtendedCard } from "./agent-card.ts";
import { assertNoTenant, parsed } from "./parsed.ts";
import { getPush, listPushes, putPush, removePush } from "./push-exchange.ts";
import type { StreamJson } from "./task-stream.ts";

type RpcId = string | number | null;

/** One event of a stream over JSON-RPC. */
export function rpcFrame(id: RpcId, event: StreamJson): string {
  return `data: ${JSON.stringify({ jsonrpc: "2.0", id, result: event })}\n\n`;
}

/** Undefined: the answer is a stream, or its reader has left. */
type Method = (exchange: Exchange, params: unknown) => Promise<unknown>;

const METHODS: Readonly<Record<string, Method>> = {
  SendMessage: (exchange, params) => sendMessage(exchange, sendingOf(params)),
  SendStreamingMessage: (exchange, params) => streamMessage(exchange, sendingOf(params)),
  GetTask: ({ desk }, params) => {
    const { id, historyLength } = idOf(params);
    return desk.task(id, historyLength ?? undefined);
  },
  ListTasks: ({ desk }, params) => {
    const asked = parsed(A2aList, params ?? {});
    assertNoTenant(asked);
    return desk.list(asked);
  },
  CancelTask: (exchange, params) => cancelTask(exchange, idOf(params).id),
  SubscribeToTask: (exchange, params) => subscribe(exchange, idOf(params).id),
  GetExtendedAgentCard: () => Promise.reject(noExtendedCard()),
  CreateTaskPushNotificationConfig: (exchange, params) =>
    putPush(exchange, parsed(A2aPutPush, params)),
  GetTaskPushNotificationConfig: (exchange, params) =>
    getPush(exchange, parsed(A2aNamedPush, params)),
  ListTaskPushNotificationConfigs: (exchange, params) =>
    listPushes(exchange, parsed(A2aPushes, params)),
  DeleteTaskPushNotificationConfig: (exchange, params) =>
    removePush(exchange, parsed(A2aNamedPush, params)),
};

/**
 * Does what a message of JSON-RPC asks for. What is wrong with the call is answered under its id;
 * what may pass is thrown, and has its status of HTTP.
 */
export async function answerRpc(
  body: unknown,
  exchangeOf: (id: RpcId) => Exchange,
): Promise<unknown> {
  const call = A2aRpc.safeParse(body);
  if (!call.success) throw notRpc();
  const exchange = exchangeOf(call.data.id ?? null);
  const answer = await answerCall(call.data, exchange);

  return answer ?? exchange.reply.hijack();
}

async function answerCall(call: A2aRpc, exchange: Exchange): Promise<object | undefined> {
  const { id = null, method, params } = call;
  try {
    const act = Object.hasOwn(METHODS, method) ? METHODS[method] : undefined;
    if (!act) throw methodUnknown(method);
    const result = await act(exchange, params);

    return result === undefined ? undefined : { jsonrpc: "2.0", id, result };
  } catch (thrown) {
    const error = asDureError(thrown);
    const status = statusOf(error);
    if (exchange.reply.sent || status >= 500 || status === 429) throw thrown;

    return rpcError(problemOf(error), id);
  }
}

function sendingOf(params: unknown): A2aSend {
  const asked = parsed(A2aSend, params);
  assertNoTenant(asked);
  return asked;
}

function idOf(params: unknown): { id: string; historyLength?: number | null | undefined } {
  const asked = parsed(A2aGet, params);
  assertNoTenant(asked);
  return asked;
}

function notRpc(): DureError {
  return new DureError("RPC_INVALID", "The body is no request of JSON-RPC 2.0.", {
    class: "input",
    hint: "Send one object with jsonrpc, id, method and params.",
  });
}

function methodUnknown(method: string): DureError {
  return new DureError("METHOD_UNKNOWN", `There is no method ${method}.`, { class: "input" });
}
