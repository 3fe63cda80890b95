import { codeOf, DureError, messageOf } from "../kernel/errors.ts";
import type { JsonObject } from "../kernel/json.ts";
import type { Done } from "../kernel/turn-events.ts";
import type { FileInfo } from "../wire/files.ts";
import type { HistoryEntry, Session } from "../wire/turns.ts";

/** One message in the conversation. */
export interface Entry {
  /** Stable while the page lives; not the server's. */
  readonly key: string;
  readonly role: "user" | "assistant" | "system";
  readonly content: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly status: "sending" | "queued" | "sent" | "failed";
  readonly turnId?: string | undefined;
  readonly author?: "person" | "system" | undefined;
  readonly interrupted?: boolean | undefined;
  /** What a message of a person carried. */
  readonly files?: readonly FileInfo[] | undefined;
  readonly done?: Done | undefined;
  /** Why it could not be sent. */
  readonly problem?: DureError;
}

/**
 * The state as the last answer showed it: a flow that has ended is stored anew, and shown as it
 * ended.
 */
export function shownState(session: Session): JsonObject {
  return (
    session.history.findLast((entry) => entry.done !== undefined)?.done?.stateSnapshot ??
    session.state
  );
}

/** What was said. A turn that the system began has no words of its own. */
export function entriesOf(history: readonly HistoryEntry[]): Entry[] {
  const taken = new Set<string>();
  return history
    .filter(({ role, author, content }) => role !== "user" || author !== "system" || content !== "")
    .map((entry, index) => {
      const { role, turnId } = entry;
      const own = turnId === undefined ? `history:${index}` : `${turnId}:${role}`;
      const key = taken.has(own) ? `${own}:${index}` : own; // merged messages share a turn
      taken.add(key);

      return entryOf(entry, key);
    });
}

/**
 * Each answer behind the messages of its turn: a message that waited was stored before the answer
 * to the one before it.
 */
export function answersAfterQuestions(entries: readonly Entry[]): Entry[] {
  const ordered: Entry[] = [];
  for (const entry of entries) {
    const place =
      entry.role === "user" || entry.turnId === undefined
        ? -1
        : ordered.findLastIndex((other) => other.turnId === entry.turnId);
    if (place < 0) ordered.push(entry);
    else ordered.splice(place + 1, 0, entry);
  }

  return ordered;
}

/** With what other agents have answered, where it came. */
export function inTime(entries: readonly Entry[], told: readonly Entry[]): Entry[] {
  return told.reduce(
    (all, answer) => {
      const next = all.findIndex(({ at }) => at !== undefined && at > (answer.at ?? 0));
      return next < 0 ? [...all, answer] : all.toSpliced(next, 0, answer);
    },
    [...entries],
  );
}

function entryOf(entry: HistoryEntry, key: string): Entry {
  const { role, content, at, turnId, author, interrupted, files, done } = entry;
  return {
    key,
    role,
    content,
    at: new Date(at).getTime(),
    status: "sent",
    turnId,
    author,
    interrupted,
    files,
    done,
  };
}

/** The key that the stored form of a message has. */
export function keyOf(entry: Entry): string {
  return entry.turnId === undefined ? entry.key : `${entry.turnId}:${entry.role}`;
}

export function asDureError(error: unknown): DureError {
  return error instanceof DureError
    ? error
    : new DureError(codeOf(error) ?? "UNEXPECTED", messageOf(error), { cause: error });
}
