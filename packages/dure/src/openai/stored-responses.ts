import type { TurnStatus } from "../kernel/turn-events.ts";
import type { CallerTools } from "../engine/caller/caller-tools.ts";
import type { Database } from "../durable/database.ts";
import { DureError } from "../kernel/errors.ts";

/** What a client has asked about a response. `unstored`: it is not to be read again. */
type ResponseMark = "unstored" | "deleted";

/** A turn as a response that can be read. */
export interface StoredResponse {
  readonly service: string;
  readonly status: TurnStatus;
  readonly messages: readonly StoredResponseMessage[];
}

/** What a turn was told. */
export interface StoredResponseMessage {
  readonly text: string;
  readonly results: CallerTools["results"] | null;
}

type ResponseRow = StoredResponse & { readonly mark: ResponseMark | null };

/**
 * Which turns can be read as responses: all, but those that a client has deleted, or has not wanted
 * to be stored. The mark stands at the turn's message, and goes with it.
 */
export class StoredResponses {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Throws `TURN_UNKNOWN` for one that cannot be read. Whose it is was asked before. */
  async read(turnId: string): Promise<StoredResponse> {
    const row = await this.#row(turnId);
    if (row === undefined || row.mark !== null) throw unknown(turnId);
    return row;
  }

  async isDeleted(turnId: string): Promise<boolean> {
    return (await this.#row(turnId))?.mark === "deleted";
  }

  async mark(turnId: string, mark: ResponseMark): Promise<void> {
    await this.#database.query(
      {
        name: "openai_mark",
        text: `update dure.messages
          set input = input || jsonb_build_object('openai_response', $2::text)
          where turn_id = $1 and input->>'openai_response' is distinct from 'deleted'`,
      },
      [turnId, mark],
    );
  }

  async #row(turnId: string): Promise<ResponseRow | undefined> {
    const [row] = await this.#database.query<ResponseRow>(
      {
        name: "openai_response",
        text: `select t.service, t.status, max(m.input->>'openai_response') as mark,
            jsonb_agg(
              jsonb_build_object('text', m.text, 'results', m.input->'caller_tools'->'results')
              order by m.ordinal
            ) as messages
          from dure.turns t
          join dure.messages m on m.turn_id = t.id
          where t.id = $1
          group by t.id`,
      },
      [turnId],
    );
    return row;
  }
}

function unknown(turnId: string): DureError {
  return new DureError("TURN_UNKNOWN", `There is no response of the turn ${turnId}.`, {
    class: "not-found",
    hint: "It was deleted, or was asked for with store: false.",
  });
}
