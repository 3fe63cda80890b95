import { DureError } from "../kernel/errors.ts";

/** Where a reader of a turn stands: behind the stored event `seq`; 0 is the start. */
export interface TurnPosition {
  readonly turnId: string;
  readonly seq: number;
}

export type TurnStanding =
  /** Send what is stored behind `after`, then what comes. */
  | { readonly is: "behind"; readonly after: number }
  /** `DONE` was read: there is nothing more, and nothing more will come. */
  | { readonly is: "finished" };

const TURN_ID = /^[A-Za-z0-9_-]{1,100}$/;

/**
 * `<turn_id>.<seq>` as `Last-Event-ID` has it; undefined when there is none. Throws
 * `EVENT_POSITION_INVALID`.
 */
export function parseTurnPosition(text: string | undefined): TurnPosition | undefined {
  if (text === undefined || text === "") return undefined;

  const match = /^([A-Za-z0-9_-]{1,100})\.(\d{1,15})$/.exec(text);
  if (!match) throw positionInvalid("Last-Event-ID is not <turn_id>.<seq>.");

  return { turnId: match[1]!, seq: Number(match[2]) };
}

/** An id that could be a turn's. Throws `TURN_UNKNOWN`: what cannot be an id cannot be found. */
export function assertTurnId(turnId: string): void {
  if (!TURN_ID.test(turnId)) {
    throw new DureError("TURN_UNKNOWN", "There is no such turn.", { class: "not-found" });
  }
}

/**
 * Where a reader goes on. Throws `EVENT_POSITION_INVALID` for a position of another turn or of the
 * future.
 */
export function decideStanding(
  position: TurnPosition | undefined,
  turnId: string,
  turn: { status: string; lastSeq: number },
): TurnStanding {
  if (position === undefined) return { is: "behind", after: 0 };
  if (position.turnId !== turnId) {
    throw positionInvalid(`Last-Event-ID belongs to turn ${position.turnId}, not to ${turnId}.`);
  }

  if (position.seq > turn.lastSeq) {
    throw positionInvalid(
      `Turn ${turnId} has no event ${position.seq}; its last one is ${turn.lastSeq}.`,
    );
  }

  if (turn.status === "done" && position.seq === turn.lastSeq) return { is: "finished" };

  return { is: "behind", after: position.seq };
}

export function positionInvalid(message: string): DureError {
  return new DureError("EVENT_POSITION_INVALID", message, {
    class: "input",
    hint: "Give back the last id that this turn's stream sent, or none to read it from the start.",
  });
}
