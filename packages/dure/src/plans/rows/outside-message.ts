import type { Database } from "../../durable/database.ts";
import type { Notifications } from "../../durable/notify.ts";
import { DureError } from "../../kernel/errors.ts";
import type { ChannelSpeaker, Member } from "../../kernel/plans.ts";
import { channelTopic, messageEvent, payloadText } from "./channel-message.ts";
import { KNOWN, SEND_FROM_OUTSIDE } from "./channel-rows.ts";
import { emit } from "./records.ts";

/** A message of a process that does not lead the run. */
export interface OutsideMessage {
  readonly run: string;
  readonly port: string;
  readonly from: ChannelSpeaker;
  readonly to: Member;
  /** Default `feedback`. */
  readonly type?: "feedback" | "query";
  readonly payload: unknown;
  /** Said again under it, it is the same message. */
  readonly key: string;
  /**
   * At most so many whose keys begin like this: more would fill the members' own channel.
   */
  readonly most: { readonly keys: string; readonly count: number };
}

/**
 * Stores a message from outside of the run's leader: the operator's words, a tool's report, what
 * the orchestrator is asked for. Any process may write it, so it needs no lease; the leader finds
 * it there. Gives its id. Throws `CHANNEL_FULL`, `CHANNEL_TOO_LONG`.
 */
export async function sendFromOutside(
  parts: { readonly database: Database; readonly notifications: Pick<Notifications, "publish"> },
  message: OutsideMessage,
): Promise<number> {
  const { run, port, from, to, type = "feedback", key, most } = message;
  const payload = payloadText(message.payload);
  const id = await parts.database.transaction(async (tx) => {
    const [made] = await tx.query<{ id: number }>(SEND_FROM_OUTSIDE, [
      run,
      port,
      from,
      to,
      payload,
      key,
      most.keys,
      most.count,
      type,
    ]);
    if (made) {
      await emit(tx, [messageEvent(run, { port, id: made.id, from, to, kind: type })]);

      return made.id;
    }
    const [known] = await tx.query<{ id: number }>(KNOWN, [run, port, key]);

    return known?.id;
  });

  if (id === undefined) {
    throw new DureError(
      "CHANNEL_FULL",
      `${most.count} messages of this kind were sent to the ${to} of ${port}.`,
      { class: "limit", hint: "Wait for the next try; it reads them." },
    );
  }
  parts.notifications.publish(channelTopic(run, port));

  return id;
}
