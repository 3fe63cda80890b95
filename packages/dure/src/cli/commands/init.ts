import { LOCALES } from "../../kernel/locales.ts";
import { existsSync } from "node:fs";
import path from "node:path";
import { Option } from "commander";
import { DURE_VERSION } from "../../team/version.ts";
import { terminalLocale } from "../../team/terminal.ts";
import type { Finding } from "../doctor/finding.ts";
import type { InitAnswers, FirstProvider } from "../init-answers.ts";
import type { MadeWords } from "../init-words.ts";
import { languageOf } from "../language.ts";
import { EXIT, type Output } from "../output.ts";
import type { CommandSpec } from "./command.ts";

interface InitOptions extends Partial<InitAnswers> {
  readonly yes?: boolean;
  readonly packages?: string;
}

export const INIT: CommandSpec = {
  name: "init",
  about: "make a new team in a folder of its name; asks on a terminal what it begins with",
  examples: [
    "dure init my-team && cd my-team && npx dure dev",
    "dure init 우리-팀 --locale ko --begin plans --provider anthropic",
  ],
  declare: (command) =>
    command
      .argument("<name>", "letters (한글 too), digits, spaces, _ and -")
      .addOption(new Option("--locale <language>", "its language").choices(LOCALES))
      .addOption(
        new Option(
          "--begin <with>",
          "chat: a service; rooms: agents in a room too; plans: a plan too",
        ).choices([...["chat", "rooms", "plans"]]),
      )
      .addOption(
        new Option("--provider <name>", "whose model; its key goes into .env").choices([
          ...["anthropic", "openai"],
        ]),
      )
      .option("-y, --yes", "ask nothing")
      .addOption(
        new Option(
          "--packages <node_modules>",
          "is moved into the team, for create-dure",
        ).hideHelp(),
      ),
  run:
    ({ output }) =>
    async (name: string, { yes, packages, ...given }: InitOptions) => {
      const { assertFree, initTeam, USUAL_ANSWERS } = await import("../init-team.ts");
      const locale = given.locale ?? languageOf(terminalLocale());
      await assertFree(name, { folder: ".", locale }); // before a person has answered anything
      const answers = yes ? undefined : await answersOf(given, output);
      if (answers === "left") return EXIT.failed;

      const { findsDure } = await import("../scaffold.ts");
      const { FIRST_MODELS } = await import("../init-answers.ts");
      const { MADE } = await import("../init-words.ts");
      const made = answers ?? { ...USUAL_ANSWERS, ...given };
      const { folder, names } = await initTeam(name, {
        folder: ".",
        version: DURE_VERSION,
        answers: made,
      });
      const words = MADE[made.locale];
      const relative = path.relative(process.cwd(), folder);
      output.line(words.stands(names.title, relative));
      if (made.provider !== undefined && made.key === undefined) {
        output.line(words.key(FIRST_MODELS[made.provider].key, relative));
      }

      const isInstalled =
        packages === undefined || (await install(folder, packages, words, output));
      const first = isInstalled && findsDure(folder) ? "" : "npm install && ";
      output.line(words.next(`cd ${relative} && ${first}npx dure dev`));
      if (made.begin === "plans" && !liesInRepository(folder)) output.line(words.repository);
      output.result({ folder, name: names.name, title: names.title });

      return EXIT.ok;
    },
};

/** Whether a repository is around the folder, which is none itself. */
function liesInRepository(folder: string): boolean {
  if (existsSync(path.join(folder, ".git"))) return false;
  for (let current = folder; ; current = path.dirname(current)) {
    if (existsSync(path.join(current, ".git"))) return true;
    if (current === path.dirname(current)) return false;
  }
}

/** Whether the team has its packages: those that are at hand are moved, npm brings the rest. */
async function install(
  folder: string,
  packages: string,
  words: MadeWords,
  output: Output,
): Promise<boolean> {
  const { installFrom } = await import("../init-packages.ts");
  output.line(words.installing);
  const isInstalled = await installFrom(packages, folder);
  if (!isInstalled) output.line(words.notInstalled);

  return isInstalled;
}

/**
 * What the person at the terminal wants. Undefined: no person is there, or the options say all of
 * it. `left`: nothing is to be written.
 */
async function answersOf(
  given: Partial<InitAnswers>,
  output: Output,
): Promise<InitAnswers | "left" | undefined> {
  const { personAt } = await import("../person-at.ts");
  const person = personAt(output);
  if (person === undefined) return undefined;

  const { askInit } = await import("../init-answers.ts");
  try {
    const answers = await askInit(
      {
        ask: person.ask,
        askSecret: person.askSecret,
        tell: (text) => output.line(text),
        tryKey: (provider, key) => tryKey(provider, key, person.left),
        left: person.left,
        locale: languageOf(terminalLocale()),
      },
      given,
    );

    return answers ?? "left";
  } finally {
    person.close();
  }
}

/** At the address that the team will use. */
async function tryKey(provider: FirstProvider, key: string, signal: AbortSignal): Promise<Finding> {
  const { tryModel } = await import("../doctor/models.ts");
  const { readEnvironment } = await import("../../team/environment.ts");
  const { FIRST_MODELS } = await import("../init-answers.ts");
  const environment = { ...readEnvironment(), [`${provider}ApiKey` as const]: key };

  return tryModel(FIRST_MODELS[provider].model, environment, { signal });
}
