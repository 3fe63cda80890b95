/** Files that are stored with a place. */

import type { Transaction } from "../../durable/database.ts";
import { unknownFile, type Files } from "../../durable/files/files.ts";
import { tooManyFiles } from "../../engine/turn/turn-request.ts";
import { DureError } from "../../kernel/errors.ts";
import { MAX_MESSAGE_FILES, type FileRef } from "../../kernel/files.ts";
import { placeOfSession, type Place } from "../place.ts";
import type { RoomsSetting } from "../talk.ts";

/** A file of a message as its record has it: stored with its place. */
export interface PlaceAttachment {
  readonly name: string;
  /** Where those who may see the place read it. */
  readonly url: string;
  readonly contentType: string;
  readonly size: number;
  readonly file: string;
}

/** No session has a key that begins so: it holds a space. */
const PLACE = "place ";

/** Whose a place's files are in the store. */
export function filesKeyOf(place: string): string {
  return `${PLACE}${place}`;
}

/**
 * Whether a file of this key is of a conversation. Of a room, of an agent there and of a job it is
 * not: the room or the job says who may have it. Pure.
 */
export function isOfConversation(key: string): boolean {
  return !key.includes(" ") && placeOfSession(key) === undefined;
}

/**
 * Files that stand in a place: what people upload there, and what agents say with their words. They
 * go with their message.
 */
export class PlaceFiles {
  readonly #setting: RoomsSetting;

  constructor(setting: RoomsSetting) {
    this.#setting = setting;
  }

  /**
   * Stores what a person will post in a place within 24 h. The same again is the same file. Throws
   * what `Files.put` throws, `FILES_FULL` of the place among it.
   */
  async upload(
    { id, tenant }: Place,
    { name, bytes }: { readonly name: string; readonly bytes: Uint8Array },
    { signal }: { signal?: AbortSignal | undefined } = {},
  ): Promise<FileRef> {
    return this.#store.put({ tenant, session: filesKeyOf(id), name, bytes }, { signal });
  }

  /** The file with its bytes. Throws `FILE_UNKNOWN`. */
  async read(
    { id }: Pick<Place, "id">,
    file: string,
    { signal }: { signal?: AbortSignal | undefined } = {},
  ): Promise<FileRef & { readonly content: Uint8Array }> {
    const session = filesKeyOf(id);
    const [ref] = await this.#store.find([file], { session, tenant: null });
    const content = await this.#store.read(file, { session, signal });
    if (!ref || !content) throw unknownFile(file);
    return { ...ref, content };
  }

  /** What a message says of its files. Throws `FILE_UNKNOWN`, `FILES_TOO_MANY`. */
  async attachmentsOf(place: Place, ids: readonly string[]): Promise<readonly PlaceAttachment[]> {
    if (ids.length === 0) return [];
    if (ids.length > MAX_MESSAGE_FILES) throw tooManyFiles(ids.length);
    const { id, tenant } = place;
    const refs = await this.#store.find(ids, { session: filesKeyOf(id), tenant });
    return refs.map((ref) => attachmentOf(id, ref));
  }

  get #store(): Files {
    const { files } = this.#setting;
    if (files) return files;
    throw new DureError("FILE_STORE_MISSING", "These rooms keep no files.", {
      class: "unavailable",
      hint: "Send a link.",
    });
  }
}

/** A message carries them from now on: they stay as long as it does. Throws where one is gone. */
export async function carryFiles(
  tx: Transaction,
  message: string,
  { place, files }: { readonly place: string; readonly files: readonly string[] },
): Promise<void> {
  const refs = JSON.stringify(files.map((id) => ({ id })));
  await tx.query(CARRY, [message, filesKeyOf(place), refs]);
}

/** Files of an agent's session, as files of the place in which it shows them. Undefined: none. */
export async function showFiles(
  tx: Transaction,
  { id: place }: { readonly id: string },
  { message, files }: { readonly message: string; readonly files: readonly FileRef[] },
): Promise<readonly PlaceAttachment[] | undefined> {
  if (files.length === 0) return undefined;
  const wanted = JSON.stringify(files.slice(0, MAX_MESSAGE_FILES));
  const [row] = await tx.query<{ shown: readonly FileRef[] }>(SHOW, [
    wanted,
    filesKeyOf(place),
    message,
  ]);
  const shown = row!.shown.map((ref) => attachmentOf(place, ref));
  return shown.length > 0 ? shown : undefined;
}

function attachmentOf(place: string, { id, name, type, bytes }: FileRef): PlaceAttachment {
  const url = `/v1/rooms/${encodeURIComponent(place)}/files/${id}`;
  return { name, url, contentType: type, size: bytes, file: id };
}

const CARRY = { name: "room.carry_files", text: "select dure.use_files($1, $2, $3)" };
/** One that is gone with its session is not shown. */
const SHOW = {
  name: "room.show_files",
  text: "select dure.carry_files($1, null, $2, $3) as shown",
};
