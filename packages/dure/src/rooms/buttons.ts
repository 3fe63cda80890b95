import { inLocale } from "../escalations/action-words.ts";
import { AuditLog, type Deed } from "../durable/audit-log.ts";
import type { Database } from "../durable/database.ts";
import type { Inbox } from "../escalations/inbox.ts";
import { codeOf, DureError } from "../kernel/errors.ts";
import type { SuggestedAction } from "../kernel/escalation.ts";
import type { Logger } from "../kernel/logger.ts";
import type { PressingPerson } from "./channel-adapter.ts";
import { LIFT_BUTTON } from "./guards.ts";
import { roomTexts, type RoomLocale } from "./texts.ts";

/** A person of one platform who pressed a button. */
export type PressedBy = PressingPerson & { readonly adapter: string };

/** Carries out what people decide by the buttons of a platform. */
export class Buttons {
  readonly #database: Database;
  readonly #inbox: Inbox;
  readonly #logger: Logger;
  readonly #locale: RoomLocale;
  readonly #approvers: readonly string[] | undefined;
  readonly #resume: (place: string, person: string) => Promise<unknown>;

  /** `resume`: agents may speak again in a place. */
  constructor(parts: {
    database: Database;
    inbox: Inbox;
    logger: Logger;
    locale: RoomLocale;
    approvers: readonly string[] | undefined;
    resume: (place: string, person: string) => Promise<unknown>;
  }) {
    this.#database = parts.database;
    this.#inbox = parts.inbox;
    this.#logger = parts.logger;
    this.#locale = parts.locale;
    this.#approvers = parts.approvers;
    this.#resume = parts.resume;
  }

  /**
   * Gives the label of the answer. Every person who can write in a place may lift what stops the
   * agents' talk there; only persons that the team trusts decide anything else.
   */
  async press(id: string, value: string, by: PressedBy): Promise<{ label: string }> {
    const name = `${by.name} (${by.adapter}:${by.id})`;
    if (id === LIFT_BUTTON) return this.#lift(value, name, by);

    const [row] = await this.#database.query<AnsweredEscalation>(ACTIONS, [id]);
    const isStop = row?.subject.startsWith("room:loop:") === true;
    if (isStop && by.writes === false) throw mayNotLift(name, id);
    if (row && !isStop && !mayAnswer(by, this.#approvers)) {
      throw new DureError("ANSWER_FORBIDDEN", `${name} may not answer ${id}.`, {
        class: "forbidden",
        hint: "Add the user's or a role's id to rooms.approvers.",
      });
    }

    const tenant = row?.tenant ?? "";
    await this.#audited({ tenant, name, what: `escalation.${value}`, subject: id }, () =>
      this.#inbox.answer(id, { value }, { tenant, name }),
    );
    const action = row?.actions.find((one) => one.value === value);
    return { label: action ? inLocale(action, this.#locale).label : value };
  }

  async #lift(place: string, name: string, by: PressedBy): Promise<{ label: string }> {
    if (by.writes === false) throw mayNotLift(name, place);
    await this.#audited({ tenant: "", name, what: "thread.resume", subject: place }, () =>
      this.#resume(place, name),
    );
    return { label: roomTexts(this.#locale).lift() };
  }

  /**
   * As the server's routes do it: written down before it is done, and how it ended before the
   * person is answered.
   */
  async #audited(deed: Deed, work: () => Promise<unknown>): Promise<void> {
    const log = new AuditLog({ database: this.#database });
    const entry = await log.begin(deed);
    const end = (outcome: string): Promise<void> =>
      log
        .end(entry, { outcome })
        .catch((error: unknown) =>
          this.#logger.error(
            { entry, code: codeOf(error) },
            "the outcome of an entry of the audit log could not be written",
          ),
        );
    try {
      await work();
    } catch (error) {
      await end(codeOf(error) ?? "INTERNAL");
      throw error;
    }
    await end("done");
  }
}

interface AnsweredEscalation {
  readonly tenant: string;
  readonly subject: string;
  readonly actions: readonly SuggestedAction[];
}

function mayNotLift(name: string, what: string): DureError {
  return new DureError("LIFT_FORBIDDEN", `${name} may not lift ${what}.`, {
    class: "forbidden",
    hint: "Only who may write there can let the agents go on.",
  });
}

/**
 * Whether a person's button decides. Without a list those who manage the server; the platform
 * vouches for ids and roles. Pure. Source: docs/spec/collaboration §9.
 */
function mayAnswer(
  { id, roles = [], manages = false }: PressingPerson,
  approvers: readonly string[] | undefined,
): boolean {
  return approvers === undefined ? manages : [id, ...roles].some((one) => approvers.includes(one));
}

const ACTIONS = {
  name: "rooms.actions",
  text: "select tenant, subject, actions from dure.escalations where id = $1",
};
