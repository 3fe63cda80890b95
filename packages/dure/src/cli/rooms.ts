import type { DureClient, Room, Thread } from "../client/index.ts";
import { EXIT, type ExitCode, type Output } from "./output.ts";
import { toWire } from "../kernel/wire.ts";

interface Command {
  readonly client: DureClient;
  readonly output: Output;
  /** Name to speak under on a server without tokens. */
  readonly person: string | undefined;
}

/** Channels and direct rooms, page by page, with their threads. */
export async function listRooms(
  page: { limit?: number | undefined; cursor?: string | undefined },
  { client, output, person }: Command,
): Promise<ExitCode> {
  const rooms = client.rooms(person);
  const { items, nextCursor } = await rooms.list(page);

  const lists = await Promise.all(
    items.map(async (room) => ({
      room,
      threads: room.kind === "channel" ? await rooms.threads(room.id) : [],
    })),
  );

  for (const { room, threads } of lists) {
    output.line(lineOf(room));
    for (const thread of threads) {
      output.line(`  ${lineOf(thread)}  ${thread.participants.join(", ")}`);
    }
  }

  if (nextCursor !== null) output.note(`There are more: --cursor ${nextCursor}`);
  output.result(
    toWire({ items: lists.map(({ room, threads }) => ({ ...room, threads })), nextCursor }),
  );

  return EXIT.ok;
}

/** Says something in a room or thread. */
export async function postMessage(
  place: string,
  text: string,
  { client, output, person }: Command,
): Promise<ExitCode> {
  const messageId = await client.rooms(person).post(place, { text });
  output.line(`posted in ${place}: ${messageId}`);
  output.result({ message_id: messageId });

  return EXIT.ok;
}

/** Lets agents speak again where a guard has stopped them. */
export async function resumePlace(
  place: string,
  { client, output, person }: Command,
): Promise<ExitCode> {
  await client.rooms(person).resume(place);
  output.line(`${place} is open again`);
  output.result({ place, state: "open" });

  return EXIT.ok;
}

function lineOf(place: Room | Thread): string {
  const states: string[] = [];
  if (place.state !== "open") {
    const reason = place.closedBecause ? `: ${place.closedBecause}` : "";
    states.push(`${place.state}${reason}`);
  }

  if (place.archived && place.state !== "closed") states.push("archived");
  const state = states.length === 0 ? "" : `  [${states.join(", ")}]`;

  return `${place.id}  ${place.name}${state}`;
}
