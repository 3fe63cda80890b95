import { A2aGet, A2aList, A2aSend } from "../wire/a2a.ts";
import { taskUnknown } from "./a2a-error.ts";
import { cancelTask, sendMessage, streamMessage, subscribe } from "./a2a-exchange.ts";
import type { Exchange } from "./a2a-exchange.ts";
import { assertNoTenant, parsed } from "./parsed.ts";
import type { StreamJson } from "./task-stream.ts";

/** One event of a stream over HTTP+JSON. */
export function restFrame(event: StreamJson): string {
  return `data: ${JSON.stringify(event)}\n\n`;
}

export const postThere = {
  async send(exchange: Exchange, body: unknown): Promise<unknown> {
    const asked = parsed(A2aSend, body);
    assertNoTenant(asked);
    const sent = await sendMessage(exchange, asked);

    return sent ?? exchange.reply.hijack();
  },

  async stream(exchange: Exchange, body: unknown): Promise<void> {
    const asked = parsed(A2aSend, body);
    assertNoTenant(asked);
    await streamMessage(exchange, asked);
  },

  /** `<id>:cancel` and `<id>:subscribe`. */
  async task(exchange: Exchange, named: string): Promise<unknown> {
    const [id = "", verb] = named.split(":", 2);
    if (verb === "cancel") return cancelTask(exchange, id);
    if (verb === "subscribe") return subscribe(exchange, id);
    throw taskUnknown();
  },
};

export const getThere = {
  async list(exchange: Exchange, query: unknown): Promise<unknown> {
    const asked = parsed(A2aList, query);
    assertNoTenant(asked);

    return exchange.desk.list(asked);
  },

  async task(exchange: Exchange, named: string, query: unknown): Promise<unknown> {
    const [id = "", verb] = named.split(":", 2);
    if (verb === "subscribe") return subscribe(exchange, id);
    if (verb !== undefined) throw taskUnknown();
    const asked = parsed(A2aGet, { ...(query as object), id });
    assertNoTenant(asked);

    return exchange.desk.task(id, asked.historyLength ?? undefined);
  },
};
