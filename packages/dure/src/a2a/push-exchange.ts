import type { A2aPush } from "../wire/a2a.ts";
import type { Exchange } from "./a2a-exchange.ts";
import { assertNoTenant } from "./parsed.ts";

/** A task as a request names it. */
interface NamedTask {
  readonly tenant?: string | undefined;
  readonly taskId: string;
}

/** Throws `TASK_UNKNOWN` for a task that the caller may not see. */
async function assertSeen({ desk }: Exchange, named: NamedTask): Promise<void> {
  assertNoTenant(named);
  await desk.stored(named.taskId);
}

export async function putPush(exchange: Exchange, asked: A2aPush & NamedTask): Promise<object> {
  await assertSeen(exchange, asked);
  return exchange.desk.pushes.put(asked.taskId, asked);
}

export async function listPushes(exchange: Exchange, asked: NamedTask): Promise<object> {
  await assertSeen(exchange, asked);
  return exchange.desk.pushes.list(asked.taskId);
}

export async function getPush(
  exchange: Exchange,
  asked: NamedTask & { readonly id: string },
): Promise<object> {
  await assertSeen(exchange, asked);
  return exchange.desk.pushes.get(asked.taskId, asked.id);
}

export async function removePush(
  exchange: Exchange,
  asked: NamedTask & { readonly id: string },
): Promise<null> {
  await assertSeen(exchange, asked);
  return exchange.desk.pushes.remove(asked.taskId, asked.id);
}
