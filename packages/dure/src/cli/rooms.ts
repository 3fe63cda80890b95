import type { DureClient, Room, Thread } from "../client/index.ts";
import { EXIT, type ExitCode, type Output } from "./output.ts";
import { toWire } from "../kernel/wire.ts";
import type { CliWords } from "./words/words.ts";

interface RoomsCommand {
  readonly client: DureClient;
  readonly output: Output;
  /** Name to speak under on a server without tokens. */
  readonly person: string | undefined;
}

/** Channels and direct rooms, page by page, with their threads. */
export async function listRooms(
  page: { limit?: number | undefined; cursor?: string | undefined },
  { client, output, person }: RoomsCommand,
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
    output.line(lineOf(room, output.words));
    for (const thread of threads) {
      output.line(`  ${lineOf(thread, output.words)}  ${thread.participants.join(", ")}`);
    }
  }

  if (nextCursor !== null) output.note(output.words.general.more(nextCursor));
  output.result(
    toWire({ items: lists.map(({ room, threads }) => ({ ...room, threads })), nextCursor }),
  );

  return EXIT.ok;
}

/** Says something in a room or thread. */
export async function postMessage(
  place: string,
  text: string,
  { client, output, person }: RoomsCommand,
): Promise<ExitCode> {
  const messageId = await client.rooms(person).post(place, { text });
  output.line(output.words.work.room.posted(place, messageId));
  output.result({ message_id: messageId });

  return EXIT.ok;
}

/** Lets agents speak again where a guard has stopped them. */
export async function resumePlace(
  place: string,
  { client, output, person }: RoomsCommand,
): Promise<ExitCode> {
  await client.rooms(person).resume(place);
  output.line(output.words.work.room.open(place));
  output.result({ place, state: "open" });

  return EXIT.ok;
}

function lineOf(place: Room | Thread, { work, said }: CliWords): string {
  const { states: words } = work.room;
  const states: string[] = [];
  if (place.state !== "open") {
    const reason = place.closedBecause ? `: ${said(place.closedBecause)}` : "";
    states.push(`${words[place.state] ?? place.state}${reason}`);
  }

  if (place.archived && place.state !== "closed") states.push(words["archived"] ?? "archived");
  const state = states.length === 0 ? "" : `  [${states.join(", ")}]`;

  return `${place.id}  ${place.name}${state}`;
}
