import type { DureClient } from "../client/index.ts";
import { systemClock } from "../kernel/clock.ts";
import { isAbort } from "../kernel/errors.ts";
import type { EventRole } from "../kernel/platform-events.ts";
import { EXIT, type ExitCode, type Output } from "./output.ts";
import type { PlatformEvent } from "../wire/events.ts";

export interface EventsCommand {
  readonly client: DureClient;
  readonly output: Output;
  readonly follow: boolean;
  readonly since: string | undefined;
  readonly types: readonly string[] | undefined;
  readonly session: string | undefined;
  readonly job: string | undefined;
  readonly role: EventRole | undefined;
}

/**
 * Before every event of the first era; in a later one, or after a sweep, the log answers with all
 * that it still has.
 */
const BEGINNING = "1.0.0";
/** Without `--follow`, the log counts as read when nothing came for this long, milliseconds. */
const QUIET = 1_000;

/**
 * Prints the event log, one line per event (one JSON value with `--json`): what is stored, then
 * with `follow` what comes.
 */
export async function showEvents({
  client,
  output,
  follow,
  since,
  types,
  session,
  job,
  role,
}: EventsCommand): Promise<ExitCode> {
  const over = new AbortController();
  const interrupted = (): void => over.abort();
  process.once("SIGINT", interrupted);
  process.once("SIGTERM", interrupted);
  const quiet = (): (() => void) => (follow ? () => {} : systemClock.after(QUIET, interrupted));
  let cancelQuiet = quiet();

  const onReset = ({ oldest }: { oldest: string | undefined }): void => {
    if (since !== undefined) {
      output.note(output.words.admin.log.reset(since, oldest));
    }
  };

  // A timer of the clock does not keep the process alive; the open stream does.
  try {
    const lastEventId = since ?? (follow ? undefined : BEGINNING);
    const events = client.events(
      { types, session, job, role },
      { lastEventId, signal: over.signal, onReset },
    );
    for await (const event of events) {
      cancelQuiet();
      output.line(eventLine(event));
      output.result(event);
      cancelQuiet = quiet();
    }
  } catch (error) {
    if (!over.signal.aborted && !isAbort(error)) throw error;
  } finally {
    cancelQuiet();
    process.off("SIGINT", interrupted);
    process.off("SIGTERM", interrupted);
  }

  return EXIT.ok;
}

/** `2026-01-02T03:04:05.678Z turn.done session=mina turn=turn_01… {"…": …}` */
function eventLine(event: PlatformEvent): string {
  const subjects = (["session", "turn", "service", "agent", "room", "run", "job"] as const).flatMap(
    (name) => (event[name] === undefined ? [] : `${name}=${event[name]}`),
  );
  return [
    new Date(event.at).toISOString(),
    event.type,
    ...subjects,
    JSON.stringify(event.data),
  ].join(" ");
}
