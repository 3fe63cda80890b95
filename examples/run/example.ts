import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Done } from "dure";
import {
  readEnvironment,
  readTeam,
  silentLogger,
  startTeam,
  type RunningTeam,
  type TeamOptions,
  type TurnRequest,
} from "dure/team";

/**
 * A conversation that is driven by a program: what is said and answered is printed as it happens.
 */
export interface Stage {
  readonly team: RunningTeam;
  readonly say: (message: string, request?: Partial<TurnRequest>) => Promise<Done>;
  /** Notes whether something is as it should be; one that is not makes the exit code 1. */
  readonly check: (what: string, isSo: boolean) => void;
}

/**
 * Runs one example against a real team: embedded PostgreSQL in a folder of its own, or the one of
 * DATABASE_URL.
 */
export async function runExample(
  name: string,
  options: TeamOptions,
  play: (stage: Stage) => Promise<void>,
): Promise<void> {
  const folder = await mkdtemp(path.join(tmpdir(), `dure-example-${name}-`));
  const session = `example-${name}-${process.pid}`;
  let failed = 0;
  const environment = { ...readEnvironment({ ...process.env, PORT: "0" }), home: folder };
  const team = await startTeam(await readTeam(options, folder), environment, {
    logger: silentLogger,
  });
  try {
    console.log(`${name} answers at ${team.url}\n`);
    await play({
      team,
      async say(message, request) {
        console.log(`나    ${message}`);
        const done = await team.engine.turn({ session, message, ...request }).done;
        const text = done.message.replaceAll("\n", "\n      ");
        const buttons = done.uiHint?.buttons ? `  [${done.uiHint.buttons.join("] [")}]` : "";
        console.log(`두레  ${text}${buttons}`);
        return done;
      },
      check(what, isSo) {
        if (!isSo) failed += 1;
        console.log(`  ${isSo ? "✓" : "✗"} ${what}`);
      },
    });
  } finally {
    await team.stop();
    await rm(folder, { recursive: true, force: true });
  }
  console.log(
    failed === 0
      ? `\n${name}: everything is as it should be`
      : `\n${name}: ${failed} checks failed`,
  );
  process.exitCode = failed === 0 ? 0 : 1;
}
