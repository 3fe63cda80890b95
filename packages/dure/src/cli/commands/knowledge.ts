import type { CommandGroup, CommandSpec, CommonOptions, PageOptions } from "./command.ts";
import { clientCommand } from "./command-input.ts";
import { optional, wholeNumber } from "./values.ts";

interface BaseOptions extends CommonOptions {
  readonly base?: string;
}

const BASE = ["--base <name>", "the knowledge base (default: the only one of the team)"] as const;

const add: CommandSpec = {
  name: "add",
  about: "add a folder, a file or an address; of a folder also remove what is gone",
  examples: ["dure knowledge add docs --base handbook", "dure knowledge add https://…/refunds"],
  worksOn: "server",
  declare: (command) => command.argument("<place>").option(...BASE),
  run: (context) => async (place: string, options: BaseOptions) => {
    const { addKnowledge } = await import("../knowledge.ts");
    const command = await clientCommand(context, options);
    return addKnowledge(place, { ...command, base: options.base });
  },
};

const list: CommandSpec = {
  name: "list",
  about: "knowledge bases, or the documents of one",
  examples: ["dure knowledge list", "dure knowledge list --base handbook"],
  worksOn: "server",
  declare: (command) =>
    command
      .option("--base <name>", "the documents of this base")
      .option("--limit <number>", "at most so many, 1 to 1000 (default 100)")
      .option("--cursor <cursor>", "go on behind an earlier list"),
  run:
    (context) =>
    async ({ limit, cursor, base, ...options }: BaseOptions & PageOptions) => {
      const { listKnowledge } = await import("../knowledge.ts");
      const command = await clientCommand(context, options);
      return listKnowledge({ limit: optional(limit, wholeNumber), cursor }, { ...command, base });
    },
};

const search: CommandSpec = {
  name: "search",
  about: "show what an agent would get for a question",
  examples: ['dure knowledge search "환불은 며칠 걸려요?"'],
  worksOn: "server",
  declare: (command) => command.argument("<question>").option(...BASE),
  run: (context) => async (question: string, options: BaseOptions) => {
    const { searchKnowledge } = await import("../knowledge.ts");
    const command = await clientCommand(context, options);
    return searchKnowledge(question, { ...command, base: options.base });
  },
};

const remove: CommandSpec = {
  name: "remove",
  about: "remove a document",
  examples: ["dure knowledge remove docs/old.md --base handbook"],
  worksOn: "server",
  declare: (command) => command.argument("<source>").option(...BASE),
  run: (context) => async (source: string, options: BaseOptions) => {
    const { removeKnowledge } = await import("../knowledge.ts");
    const command = await clientCommand(context, options);
    return removeKnowledge(source, { ...command, base: options.base });
  },
};

export const KNOWLEDGE: CommandGroup = {
  name: "knowledge",
  about: "give agents documents to search, and see what they find",
  examples: ["dure knowledge add docs", 'dure knowledge search "How long does a refund take?"'],
  commands: [add, list, search, remove],
};
