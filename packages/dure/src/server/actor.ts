import type { FastifyRequest } from "fastify";

/** Longest name of a person, in characters. */
const LONGEST = 60;
const NAME = /^[\p{L}\p{N}][\p{L}\p{N}\p{M} ._'-]*$/u;

/**
 * Who does it, for the audit and for `by` of events: the token's id, or the address of the person
 * at the machine. Their page may say what they are called (`X-Dure-Person`, percent-encoded); it is
 * a name that they chose, so it stands behind `machine:` and opens nothing.
 */
export function actorOf({
  principal,
  headers,
}: Pick<FastifyRequest, "principal" | "headers">): string {
  const { caller, proof } = principal!;
  const said = proof === "none" ? nameIn(headers["x-dure-person"]) : undefined;

  return said === undefined ? caller.name : `machine:${said}`;
}

/** Undefined for what is no name. Pure. */
function nameIn(header: string | readonly string[] | undefined): string | undefined {
  if (typeof header !== "string") return undefined;
  try {
    const name = decodeURIComponent(header).normalize("NFC").trim();
    return name.length <= LONGEST && NAME.test(name) ? name : undefined;
  } catch {
    return undefined; // not percent-encoded
  }
}
