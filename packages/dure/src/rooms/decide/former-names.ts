/**
 * Names that were an agent's: what a person says to one of them is answered by no other agent.
 * Source: docs/spec/collaboration §2.
 */

import type { DecidedMessage } from "./consequences.ts";
import type { Directory } from "../directory.ts";
import { findMentions, mentionDirectory, type MentionDirectory } from "./mentions.ts";

/** What an agent is called, or was. */
export interface KnownName {
  readonly agent: string;
  readonly name: string;
  readonly account?: string | null | undefined;
  readonly platform_id?: string | null | undefined;
}

/** Known names that are kept, newest first. */
export const MAX_KNOWN_NAMES = 500;

/** Those of the known names that mean no agent any more, each as it is shown. Pure. */
export function formerNames(
  known: readonly KnownName[],
  current: { readonly names: MentionDirectory; has(agent: string): boolean },
): MentionDirectory {
  const isFormer = (name: string): boolean =>
    findMentions(`@${name}`, current.names).agents.length === 0;
  const former = known.flatMap(({ agent, name, account, platform_id }) => [
    ...[name, agent, account ?? name].filter(isFormer).map((one) => ({ agent: one, names: [] })),
    ...(platform_id && !current.has(agent) ? [{ agent: name, names: [platform_id] }] : []),
  ]);
  return mentionDirectory(former);
}

/**
 * The former name that a person's message calls; undefined where it calls an agent that is there.
 * Pure.
 */
export function formerNameIn(
  { authorKind, mentions, text }: Pick<DecidedMessage, "authorKind" | "mentions" | "text">,
  directory: Pick<Directory, "formerNames">,
): string | undefined {
  if (authorKind !== "person" || mentions.length > 0) return undefined;
  return findMentions(text, directory.formerNames).agents[0];
}
