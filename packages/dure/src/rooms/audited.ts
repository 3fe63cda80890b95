import { AuditLog, type Deed } from "../durable/audit-log.ts";
import type { Database } from "../durable/database.ts";
import { codeOf } from "../kernel/errors.ts";
import type { Logger } from "../kernel/logger.ts";

/**
 * A deed that a person orders on a platform, as the server's routes do it: written down before it is
 * done, and how it ended before the person is answered.
 */
export async function audited<T>(
  { database, logger }: { database: Database; logger: Logger },
  deed: Deed,
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
