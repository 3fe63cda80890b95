import type { AuditFilter, DureClient } from "../client/index.ts";
import { EXIT, momentOf, type ExitCode, type Output } from "./output.ts";

/** Who did what, newest first. */
export async function listAudit(
  filter: AuditFilter,
  { client, output }: { client: DureClient; output: Output },
): Promise<ExitCode> {
  const { log: words } = output.words.admin;
  const { items, nextCursor } = await client.audit(filter);
  if (items.length === 0) output.line(words.none);
  else {
    output.table(
      items.map(({ at, tenant, name, person, role, what, subject, outcome }) => [
        momentOf(at),
        [person ?? name, ...[role, tenant].flatMap((one) => (one ? [`(${one})`] : []))].join(" "),
        what,
        subject || "–",
        outcome === null ? words.unknown : words.outcome(outcome),
      ]),
    );
  }

  if (nextCursor !== null) output.note(words.older(nextCursor));
  output.result({ items, nextCursor });

  return EXIT.ok;
}
