import { DureError } from "../kernel/errors.ts";
import type { PressingPerson } from "./channel-adapter.ts";

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

/** A person may not do what a button or an order asks for. */
export function forbidden(code: string, message: string): DureError {
  return new DureError(code, message, {
    class: "forbidden",
    hint: "Add the user's or a role's id to rooms.approvers, or let the person write there.",
  });
}
