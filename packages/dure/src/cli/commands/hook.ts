import { systemClock } from "../../kernel/clock.ts";
import { EXIT } from "../output.ts";
import type { CommandGroup, CommandSpec } from "./command.ts";

const testFeedback: CommandSpec = {
  name: "test-feedback",
  about:
    "hand a report of tests (JSON on standard input) to the loop of the worker; " +
    "prints {decision, notifications}",
  examples: ["my-tests --json | dure hook test-feedback"],
  run:
    ({ output }) =>
    async () => {
      const hook = await hookOfWorker();
      const { sendTestFeedback } = await import("../../plans/workers/hook-client.ts");
      const { stdin, stdout } = output.streams;
      await sendTestFeedback({ ...hook, stdin, stdout });

      return EXIT.ok;
    },
};

const ask: CommandSpec = {
  name: "ask",
  about: "ask the other member of the worker's pair, and print the answer",
  examples: ['dure hook ask "Is the amount in cents?"'],
  declare: (command) => command.argument("<question>"),
  run:
    ({ output }) =>
    async (question: string) => {
      const hook = await hookOfWorker();
      const { askPartner } = await import("../../plans/workers/hook-client.ts");
      const answer = await askPartner({ ...hook, question });
      output.write(`${answer}\n`);

      return EXIT.ok;
    },
};

const requestAccess: CommandSpec = {
  name: "request-access",
  about: "ask the operator for a path that the worker may not use; prints {granted, note}",
  examples: ['dure hook request-access src/types.ts --why "The amount is declared there."'],
  declare: (command) =>
    command
      .argument("<path>", "a file or folder, from the root of the repository")
      .option("--own", "to write it, not only to read it")
      .requiredOption("--why <reason>", "told to the operator"),
  run:
    ({ output }) =>
    async (wanted: string, { own, why }: { own?: boolean; why: string }) => {
      const hook = await hookOfWorker();
      const { requestPath } = await import("../../plans/workers/hook-client.ts");
      const request = { path: wanted, wants: own ? "own" : "read", why } as const;
      const answer = await requestPath({ ...hook, request });
      output.write(`${JSON.stringify(answer)}\n`);

      return EXIT.ok;
    },
};

export const HOOK: CommandGroup = {
  name: "hook",
  about: "what tools call from inside of a worker of a plan",
  examples: ["my-tests --json | dure hook test-feedback"],
  commands: [testFeedback, ask, requestAccess],
};

/** Where the worker's loop listens, as its environment says. */
async function hookOfWorker() {
  const { readEnvironment } = await import("../../team/environment.ts");
  const { hookUrl, hookToken, hookSocket } = readEnvironment();
  return { url: hookUrl, token: hookToken, socket: hookSocket, clock: systemClock };
}
