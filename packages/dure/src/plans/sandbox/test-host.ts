import { systemClock } from "../../kernel/clock.ts";
import {
  openSandbox,
  type Confinement,
  type OpenSandboxOptions,
  type SandboxCommand,
} from "./sandbox.ts";

/**
 * A dure of its own for tests: runs one command as its only argument says, as the user it is started
 * by. Prints a line of JSON with the identity before the command starts, one with the end after it.
 */
export interface HostOrder {
  readonly open: Omit<OpenSandboxOptions, "clock">;
  readonly confinement: Confinement;
  readonly command: SandboxCommand;
}

const { open, confinement, command } = JSON.parse(process.argv[2] ?? "") as HostOrder;
const say = (value: object): void => void process.stdout.write(`${JSON.stringify(value)}\n`);

try {
  const sandbox = await openSandbox({ ...open, clock: systemClock });
  const end = await sandbox.run(confinement, command, {
    onStart: async (identity) => say({ identity }),
    onOutput: (text) => say({ text }),
  });
  say({ kind: sandbox.kind, end });
} catch (error) {
  say({ error: String(error) });
}
