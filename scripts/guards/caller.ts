import type { Guard } from "../mutate.ts";
import { testsIn } from "./tests-in.ts";

const HANDED = "packages/dure/src/engine/caller/handed-out.ts";
const ACCEPTANCE = "packages/dure/src/engine/turn/turn-acceptance.ts";
const HANDLER = "packages/dure/src/engine/turn/turn-handler.ts";
const caller = testsIn("packages/dure/src/engine/caller/caller-tools.test.ts");

/** Tools of a caller: which results count, and who takes them. */
export const CALLER_GUARDS: readonly Guard[] = [
  {
    id: "caller.session",
    at: { file: HANDED },
    find: "if (!isOfTurn) return closed();",
    replace: "",
    tests: caller("of another session"),
    why: "a result goes into a session that never asked for it",
  },
  {
    id: "caller.life",
    at: { file: HANDED },
    find: "if (now.at - handed.at > CALLER_LIMITS.openMs) return expired();",
    replace: "",
    tests: caller("after 24 h comes too late"),
    why: "a call stays open for ever",
  },
  {
    id: "caller.once",
    at: { file: ACCEPTANCE },
    find: 'const once = { caller: { ...caller, name: "calls" }, path: "calls", key };',
    replace: "const once = {};",
    tests: caller("that is sent again is the same turn"),
    why: "the same results are two turns",
  },
  {
    id: "caller.handler",
    at: { file: ACCEPTANCE },
    find: 'if (service.kind !== "service" || !service.callerTools)',
    replace: 'if (service.kind !== "service")',
    tests: caller("tools are refused for a service that takes none"),
    why: "a handler of its own is given tools that it does not know of",
  },
  {
    id: "caller.open",
    at: { file: HANDLER },
    find: "if (refusal) throw refusal;",
    replace: "",
    tests: caller("that waited while another message came"),
    why: "results of calls that were left are answered",
  },
];
