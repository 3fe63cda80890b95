import path from "node:path";
import { DureError } from "../../kernel/errors.ts";
import { environmentOf } from "../connect.ts";
import type { CommandSpec, CommonOptions } from "./command.ts";
import { optional, wholeNumber } from "./values.ts";

interface EvalFlags extends CommonOptions {
  readonly only?: string;
  readonly repeat?: string;
  readonly parallel?: string;
  readonly model?: string;
  readonly judge?: string;
  readonly label?: string;
  readonly junit?: string;
  readonly threshold?: string;
  readonly resume?: true;
}

/** Cases that are played at the same time. */
const PARALLEL = 4;

const compare: CommandSpec = {
  name: "compare",
  about: "show two runs beside each other: score, time, tokens, and the cases that differ",
  examples: ["dure eval compare", "dure eval compare small large"],
  worksOn: "folder",
  declare: (command) =>
    command
      .argument("[before]", "a run, by its id or label (default: the second newest)")
      .argument("[after]", "the other one (default: the newest)"),
  run:
    ({ output }) =>
    async (before: string | undefined, after: string | undefined, { dir }: CommonOptions) => {
      const environment = await environmentOf(dir);
      const { compare: show } = await import("../eval.ts");
      return show({ folder: path.resolve(dir), environment, output, before, after });
    },
};

export const EVAL: CommandSpec = {
  name: "eval",
  about: "play the conversations of evals/ with the team, and check what comes of them",
  examples: [
    "dure eval",
    "dure eval evals/faq.eval.yaml --model openai:gpt-5 --label large",
    "dure eval --junit report.xml",
  ],
  worksOn: "folder",
  commands: [compare],
  declare: (command) =>
    command
      .argument("[files...]", "files of evaluations (default: all of evals/)")
      .option("--only <text>", "cases alone that have this in their name")
      .option("--repeat <n>", "how often each case is played (default: as its file says)")
      .option("--parallel <n>", `cases at the same time (default: ${PARALLEL})`)
      .option("--model <name>", "model of agents that name none, instead of the team's")
      .option("--judge <name>", "model that judges and writes as a person (default: the team's)")
      .option("--label <text>", "name of this run, for dure eval compare")
      .option(
        "--threshold <share>",
        "share of cases that must pass, 0 to 1 (default: as files say)",
      )
      .option("--junit <file>", "writes the results as JUnit XML")
      .option("--resume", "goes on with the newest run that came to no end"),
  run:
    ({ output }) =>
    async (files: readonly string[], options: EvalFlags) => {
      const { dir, repeat, parallel, threshold, resume = false } = options;
      const environment = await environmentOf(dir);
      const { evaluate } = await import("../eval.ts");
      return evaluate({
        ...options,
        folder: path.resolve(dir),
        environment,
        output,
        files,
        repeat: optional(repeat, (text) => within(text, 100)),
        parallel: optional(parallel, (text) => within(text, 64)) ?? PARALLEL,
        threshold: optional(threshold, share),
        resume,
      });
    },
};

/** Throws `NUMBER_INVALID`. */
function within(text: string, most: number): number {
  const number = wholeNumber(text);
  if (number >= 1 && number <= most) return number;
  throw new DureError("NUMBER_INVALID", `${number} is not from 1 to ${most}.`, {
    class: "input",
    hint: "Write a number in between.",
  });
}

/** Throws `NUMBER_INVALID`. */
function share(text: string): number {
  const number = Number(text);
  if (text.trim() !== "" && number >= 0 && number <= 1) return number;
  throw new DureError("NUMBER_INVALID", `"${text}" is no share from 0 to 1.`, {
    class: "input",
    hint: "Write a number such as 0.95.",
  });
}
