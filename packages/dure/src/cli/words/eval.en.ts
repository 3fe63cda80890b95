import type { UnmetExpectation } from "../../team/evals/expectation.ts";

/** What is found where something else was expected, cut for a line. */
const MOST = 300;
const cut = (text: string): string => (text.length > MOST ? `${text.slice(0, MOST)}…` : text);

/** What `dure eval` says. */
export const EVAL_EN = {
  playing: ({ cases, model }: { cases: number; model: string }) =>
    `Playing ${cases} ${cases === 1 ? "case" : "cases"} with ${model} …`,
  seconds: (ms: number) => `${(ms / 1_000).toFixed(1)} s`,
  share: (share: number) => `${(100 * share).toFixed(1)} %`,
  head: ["evaluation", "passed", "score", "threshold"] as readonly string[],
  figures: [
    "run",
    "model",
    "cases",
    "score",
    "median",
    "tokens in",
    "tokens out",
  ] as readonly string[],
  run: (run: string) => `Run ${run}. Compare it with the one before: dure eval compare`,
  interrupted: "Interrupted. Go on with: dure eval --resume",
  same: "No case differs.",
  failure: ({ kind, wanted, found = "" }: UnmetExpectation): string => {
    const told = {
      says: `does not say ${wanted}: "${cut(found)}"`,
      neverSays: `says ${wanted}: "${cut(found)}"`,
      calls: `did not call ${wanted}; called: ${cut(found) || "nothing"}`,
      neverCalls: `called ${wanted}: ${cut(found)}`,
      state: `state is ${cut(found)}, and not ${wanted}`,
      next: `expects ${found} next, and not ${wanted}`,
      hooks: `has no hook ${wanted}; has: ${found || "none"}`,
      schema: `does not fit the schema: ${cut(found)}`,
      error: `ended with ${found || "no error"}${wanted === "" ? "" : `, and not with ${wanted}`}`,
      check: wanted,
      judge: `is not true of it: ${wanted} (${cut(found)})`,
      broken: `broke off: ${wanted}${found === "" ? "" : ` (${found})`}`,
    } satisfies Record<UnmetExpectation["kind"], string>;
    return told[kind];
  },
};

export type EvalWords = typeof EVAL_EN;
