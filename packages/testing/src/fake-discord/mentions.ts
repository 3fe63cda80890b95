import type { AllowedMentions, Message } from "./world-facts.ts";

/**
 * Whom a message wakes: what its text mentions outside code, narrowed by
 * `allowed_mentions`; the author of the message that it replies to unless that
 * is switched off. Source: "Message: Allowed Mentions Object" and "Message
 * Formatting". Pure.
 */
export function mentionsIn(
  text: string,
  allowed: AllowedMentions | undefined,
  replyTo: Message | undefined,
): {
  readonly ids: readonly string[];
  readonly roles: readonly string[];
  readonly everyone: boolean;
} {
  const spoken = withoutCode(text);
  const named = new Set([...spoken.matchAll(/<@!?(\d+)>/gu)].map((match) => match[1] ?? ""));
  const isAllowed = (kind: string): boolean =>
    allowed === undefined || allowed.parse?.includes(kind) === true;
  const ids = [...named].filter(
    (id) => isAllowed("users") || allowed?.users?.includes(id) === true,
  );
  const wakesRepliedUser = allowed === undefined || allowed.replied_user === true;
  if (replyTo !== undefined && wakesRepliedUser && !ids.includes(replyTo.author.id)) {
    ids.push(replyTo.author.id);
  }
  const roles = [...spoken.matchAll(/<@&(\d+)>/gu)]
    .map((match) => match[1] ?? "")
    .filter((id) => isAllowed("roles") || allowed?.roles?.includes(id) === true);

  return {
    ids,
    roles: [...new Set(roles)],
    everyone: /@(everyone|here)/u.test(spoken) && isAllowed("everyone"),
  };
}

function withoutCode(text: string): string {
  return text.replaceAll(/```[\s\S]*?```|`[^`\n]*`/gu, "");
}
