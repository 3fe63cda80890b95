import type { RoomMessage } from "dure/client";

/** Longest time between two messages that stand under one name, milliseconds. */
const TOGETHER_MS = 5 * 60_000;

/**
 * How a message stands to the one before it: on a new day, under a name of its own, or below the
 * same name.
 */
export function standOf(
  before: RoomMessage | undefined,
  message: RoomMessage,
): "new-day" | "own-name" | "same-name" {
  if (
    before === undefined ||
    new Date(before.at).toDateString() !== new Date(message.at).toDateString()
  ) {
    return "new-day";
  }

  const isSame =
    before.author === message.author &&
    before.authorKind === message.authorKind &&
    before.mark === message.mark &&
    message.replyTo === null;

  return isSame && message.at - before.at < TOGETHER_MS ? "same-name" : "own-name";
}
