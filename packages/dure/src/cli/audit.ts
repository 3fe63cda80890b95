import type { AuditFilter, DureClient } from "../client/index.ts";
import { EXIT, type ExitCode, type Output } from "./output.ts";

/** Who did what, newest first. */
export async function listAudit(
  filter: AuditFilter,
  { client, output }: { client: DureClient; output: Output },
): Promise<ExitCode> {
  const { items, nextCursor } = await client.audit(filter);
  if (items.length === 0) output.line("there is no such entry");
  else {
    output.table(
      items.map(({ at, tenant, name, person, what, subject, outcome }) => [
        timeOf(at),
        `${person ?? name}${tenant === "" ? "" : ` (${tenant})`}`,
        what,
        subject || "–",
        outcome ?? "begun; its outcome is unknown",
      ]),
    );
  }

  if (nextCursor !== null) output.note(`There are older ones: --cursor ${nextCursor}`);
  output.result({ items, nextCursor });

  return EXIT.ok;
}

function timeOf(at: number): string {
  return new Date(at).toISOString().slice(0, 19);
}
