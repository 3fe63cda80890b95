import type { DureClient, TurnFrame, TurnStream } from "../client/index.ts";
import type { Clock } from "../kernel/clock.ts";
import { DureError } from "../kernel/errors.ts";
import { newId } from "../kernel/ids.ts";
import type { Done } from "../kernel/turn-events.ts";

/** Looks for a team that has gone away, and the pause between them: a minute. */
export const LOOKS = 60;
export const PAUSE_MS = 1_000;

export interface TeamTurnsOptions {
  /** Anew each time: the team may have been started again at another port. */
  readonly connect: () => Promise<DureClient>;
  readonly clock: Clock;
}

export interface TeamMessage {
  readonly session: string;
  readonly service: string | undefined;
  readonly message: string;
  readonly confirmId: string | undefined;
}

/** How a turn is followed. */
export interface Following {
  readonly signal: AbortSignal;
  readonly onBegun: (turnId: string) => void;
  readonly onFrame: (frame: TurnFrame) => Promise<void>;
}

/** Turns at the team. One whose server ends is followed at the next one; nothing is said twice. */
export class TeamTurns {
  readonly #options: TeamTurnsOptions;

  constructor(options: TeamTurnsOptions) {
    this.#options = options;
  }

  say(message: TeamMessage, following: Following): Promise<Done> {
    const { session: sessionId, service, confirmId } = message;
    const request = { sessionId, message: message.message, service, confirmId };
    const idempotencyKey = newId("call", this.#options.clock.now());
    const { signal } = following;

    return this.#follow(following, (client) =>
      client.sendMessage(request, { idempotencyKey, signal }),
    );
  }

  follow(turnId: string, following: Following): Promise<Done> {
    const { signal } = following;
    return this.#follow(following, (client) => client.followTurn(turnId, { signal }));
  }

  async #follow(
    { signal, onBegun, onFrame }: Following,
    begin: (client: DureClient) => TurnStream,
  ): Promise<Done> {
    let turnId: string | undefined;
    for (let look = 1; ; look++) {
      try {
        const client = await this.#options.connect();
        const turn: TurnStream =
          turnId === undefined ? begin(client) : client.followTurn(turnId, { signal });
        turn.done.catch(() => undefined); // the loop tells it
        turnId = await turn.turnId;
        onBegun(turnId);
        for await (const frame of turn) await onFrame(frame);
        return await turn.done;
      } catch (error) {
        signal.throwIfAborted();
        if (!mayPass(error) || look === LOOKS) throw error;
        await this.#options.clock.sleep(PAUSE_MS, { signal });
      }
    }
  }
}

/** Whether a team that is started again may answer. Pure. */
export function mayPass(error: unknown): boolean {
  return !(error instanceof DureError) || error.class === "unavailable";
}
