import { DureError } from "../kernel/errors.ts";

/** A token of the environment, and the agents that would speak by it. */
export interface SharedToken {
  readonly agent: string;
  readonly variable: string;
  readonly token: string;
}

/**
 * Refuses a token that two accounts would connect with: the platform would tell each event to both,
 * or to any one of them. Names the variables, never what stands in them.
 * @throws TOKEN_SHARED
 */
export function refuseSharedTokens(
  tokens: readonly SharedToken[],
  { platform, hint }: { platform: string; hint: string },
): void {
  const first = new Map<string, SharedToken>();
  for (const named of tokens) {
    const other = first.get(named.token);
    if (other !== undefined) throw sharedError(platform, [other, named], hint);
    first.set(named.token, named);
  }
}

function sharedError(
  platform: string,
  [one, other]: readonly [SharedToken, SharedToken],
  hint: string,
): DureError {
  const names = [one, other].map(({ agent, variable }) => `${agent} (${variable})`).join(" and ");
  return new DureError("TOKEN_SHARED", `${names} have the same token of ${platform}.`, {
    class: "input",
    hint,
    details: { agents: [one.agent, other.agent], variables: [one.variable, other.variable] },
  });
}
