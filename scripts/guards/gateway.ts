import type { Guard } from "../mutate.ts";
import { testsIn } from "./tests-in.ts";

const DISCORD = "packages/dure/src/channels/discord";
const budget = testsIn(`${DISCORD}/identify-budget.test.ts`);
const odd = testsIn(`${DISCORD}/gateway-fuzz.test.ts`);

/** What comes from Discord's gateway, and how often it is connected to. */
export const GATEWAY_GUARDS: readonly Guard[] = [
  {
    id: "gateway.starts.reserve",
    at: { file: `${DISCORD}/identify-budget.ts` },
    find: "limit.remaining - Math.ceil(limit.total * RESERVE)",
    replace: "limit.remaining",
    tests: budget("are spared"),
    why: "a bot uses up its session starts, and the platform resets its token",
  },
  {
    id: "gateway.short.grows",
    at: { file: `${DISCORD}/gateway-client.ts` },
    find: "? 0 : before + 1",
    replace: "? 0 : before",
    tests: budget("is dialled a bounded number of times a day"),
    why: "a gateway that closes at once is dialled twice a second",
  },
  {
    id: "gateway.odd.left-out",
    at: { file: `${DISCORD}/gateway-link.ts` },
    find: "this.#options.listener.leftOut(what.slice(0, 100), error);",
    replace: "throw error;",
    tests: odd("the bot connects again, and no process ends"),
    why: "one odd packet ends the process, and all bots, jobs and runs with it",
  },
];
