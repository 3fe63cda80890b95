/** Who pressed a button or gave an order, what that person may do, and the record of it. */

import { DureError, codeOf } from "../../kernel/errors.ts";
import { askerIn } from "../../kernel/rooms.ts";
import type { PressingPerson } from "../channel-adapter.ts";
import { isForAsker, needsOf, type RoomQuestion } from "../answer/questions.ts";
import { AuditLog, type AuditedDeed } from "../../durable/audit-log.ts";
import type { Database } from "../../durable/database.ts";
import type { Logger } from "../../kernel/logger.ts";

/** A person of one platform who pressed a button, reacted or gave a command. */
export type PressedBy = PressingPerson & { readonly adapter: string };

/** The person in the audit: a name can be changed, the platform's id cannot. Pure. */
export function nameOf({ name, adapter, id }: PressedBy): string {
  return `${name} (${adapter}:${id})`;
}

/**
 * Whether a person decides for the team. Without a list those who manage the server; the platform
 * vouches for ids and roles. Pure. Source: docs/spec/collaboration §9.
 */
export function mayAnswer(
  { id, roles = [], manages = false }: PressingPerson,
  approvers: readonly string[] | undefined,
): boolean {
  return approvers === undefined ? manages : [id, ...roles].some((one) => approvers.includes(one));
}

/** By a role of approvals, the ids of users or roles of platforms that have it. */
export type RoomRoles = Readonly<Record<string, readonly string[]>>;

/** The roles of approvals that a person has, by what their platform vouches for. Pure. */
export function rolesOf({ id, roles = [] }: PressingPerson, team: RoomRoles = {}): string[] {
  return Object.entries(team).flatMap(([role, ids]) =>
    [id, ...roles].some((one) => ids.includes(one)) ? [role] : [],
  );
}

/** What decides who answers in rooms, by the team's settings. */
export interface RoomDeciders {
  readonly approvers: readonly string[] | undefined;
  readonly roles?: RoomRoles | undefined;
}

/** Why a person may not answer a question of a room. */
export type MayNotAnswer =
  /** It is for this person alone. */
  | { readonly because: "for-another"; readonly who: string }
  /** It stands in another place. */
  | { readonly because: "elsewhere" }
  /** People who decide for the team answer it, or people with a role. */
  | { readonly because: "not-an-approver" | "lacks-role" };

/**
 * Whether a person may answer what a turn asks in a room; undefined: yes. The one place that decides
 * it for buttons. What asks the person who led to it is theirs alone, where it stands; everything
 * else is for those who decide for the team, and a call that needs a role for those who have it.
 * Pure.
 */
export function mayNotAnswer(
  question: Pick<RoomQuestion, "context">,
  by: PressedBy,
  { approvers, roles, isThere }: RoomDeciders & { readonly isThere: boolean },
): MayNotAnswer | undefined {
  const asker = isForAsker(question) ? askerIn(question.context) : undefined;
  if (!asker) {
    if (mayAnswer(by, approvers)) return undefined;
    const { role } = needsOf(question);
    if (role === undefined) return { because: "not-an-approver" };
    return rolesOf(by, roles).includes(role) ? undefined : { because: "lacks-role" };
  }
  if (asker.adapter !== by.adapter || asker.id !== by.id) {
    return { because: "for-another", who: asker.name };
  }
  return isThere ? undefined : { because: "elsewhere" };
}

/** A person may not do what a button or an order asks for. */
export function forbidden(code: string, message: string): DureError {
  return new DureError(code, message, {
    class: "forbidden",
    hint: "Add the user's or a role's id to rooms.approvers, or let the person write there.",
  });
}

/**
 * A deed that a person orders on a platform, as the server's routes do it: written down before it is
 * done, and how it ended before the person is answered.
 */
export async function audited<T>(
  { database, logger }: { database: Database; logger: Logger },
  deed: AuditedDeed,
  work: () => Promise<T>,
): Promise<T> {
  const log = new AuditLog({ database });
  const entry = await log.begin(deed);
  const end = (outcome: string): Promise<void> =>
    log
      .end(entry, { outcome })
      .catch((error: unknown) =>
        logger.error(
          { entry, code: codeOf(error) },
          "the outcome of an entry of the audit log could not be written",
        ),
      );
  try {
    const result = await work();
    await end("done");
    return result;
  } catch (error) {
    await end(codeOf(error) ?? "INTERNAL");
    throw error;
  }
}
