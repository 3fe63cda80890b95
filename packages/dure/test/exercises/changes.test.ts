import { existsSync, globSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { LANGUAGES } from "../../../dashboard/src/words.ts";
import { KIND_NAMES } from "../../src/channels/kinds.ts";
import { BOT_TOKENS, botTokenOf } from "../../src/kernel/bot-tokens.ts";
import { JOB_STATUSES } from "../../src/kernel/jobs.ts";
import { LOCALES } from "../../src/kernel/locales.ts";
import { PLAN_RUN_STATUSES, PORT_STATUSES } from "../../src/kernel/plans.ts";
import { isSecretKey } from "../../src/kernel/secret-keys.ts";
import { translatorOf } from "../../src/kernel/sentence-forms.ts";
import { ALLOWED_KO } from "../../src/korean/problems.ko.ts";
import { PROMPT_NAMES } from "../../src/models/prompt-files.ts";
import { KEYED_PROVIDERS, keyFactsOf, PROVIDER_NAMES } from "../../src/models/providers.ts";
import { policyOfWorker } from "../../src/plans/network-needs.ts";
import { isOwnSecret } from "../../src/plans/own-secrets.ts";
import { readEnvironment, VARIABLES, type Variable } from "../../src/team/environment.ts";
import { SETTINGS } from "../../src/team/limits.ts";
import { ChatAnswer } from "../../src/wire/turns.ts";

/**
 * What the compiler cannot see of the changes in CONTRIBUTING.md: a page, a text or a file that was
 * forgotten is named here.
 */

const ROOT = path.resolve(import.meta.dirname, "../../../..");
const read = (file: string): string => readFileSync(path.join(ROOT, file), "utf8");

/** Which file does not have which word. */
function lacking(words: readonly string[], files: readonly string[]): readonly string[] {
  return files.flatMap((file) => {
    const text = read(file);
    return words.filter((word) => !text.includes(word)).map((word) => `${file}: ${word}`);
  });
}

const missing = (files: readonly string[]): readonly string[] =>
  files.filter((file) => !existsSync(path.join(ROOT, file)));

describe("a new channel", () => {
  const kinds = Object.keys(BOT_TOKENS) as (keyof typeof BOT_TOKENS)[];
  const tokens = kinds.flatMap((kind) => BOT_TOKENS[kind].map((token) => ({ kind, token })));

  test("has a folder, a door, and a platform on which the tests of rooms run", () => {
    expect(KIND_NAMES).toEqual(kinds);
    expect(missing(kinds.map((kind) => `packages/dure/src/channels/${kind}/${kind}.ts`))).toEqual(
      [],
    );
    expect(missing(kinds.map((kind) => `packages/dure/test/rooms/${kind}-platform.ts`))).toEqual(
      [],
    );
    const doors = kinds.map((kind) => `export { ${kind} } from "./${kind}/${kind}.ts";`);
    expect(lacking(doors, ["packages/dure/src/channels/index.ts"])).toEqual([]);
  });

  test.each(tokens)("has its token $token read, kept from workers, and explained", (one) => {
    const name = botTokenOf("night-owl", one.token);
    const { discordTokens, variable } = readEnvironment({ [name]: "secret" });

    expect(discordTokens["night_owl"] ?? variable?.(name)).toBe("secret");
    expect(isOwnSecret(name)).toBe(true);
    const pages = [`docs/guides/${one.kind}.md`, "docs/reference/configuration.md"];
    expect(lacking([`${one.token}_`], pages)).toEqual([]);
  });
});

describe("a new provider", () => {
  test("stands in the guide of models", () => {
    const written = PROVIDER_NAMES.filter((name) => name !== "ai-sdk"); // an object, without a name
    expect(lacking(written, ["docs/guides/models.md"])).toEqual([]);
  });

  test.each(KEYED_PROVIDERS)("has the key of %s named wherever a person sets one", (provider) => {
    const { key } = keyFactsOf(provider);
    const files = [
      ...["docs/guides/models.md", "docs/reference/configuration.md"],
      ...["deploy/container/compose.yaml", "packages/dure/src/models/no-model.ts"],
      ...["packages/dure/src/cli/doctor/models.ts", "packages/dure/src/korean/doctor.ko.ts"],
      ...LANGUAGES.map((language) => `packages/dashboard/words/${language}.yaml`),
      ...["team", "team-ko"].map((team) => `packages/dure/templates/${team}/_env.example`),
    ];

    expect(lacking([key], files)).toEqual([]);
    expect(isSecretKey(key)).toBe(true);
  });

  test.each(KEYED_PROVIDERS)("has hosts that a worker with the key of %s may reach", (provider) => {
    const { key } = keyFactsOf(provider);
    const spec = { kind: "command", command: ["work"], prompt: "stdin", env: [key] } as const;
    const about = { plan: {}, port: undefined };
    const policy = policyOfWorker(spec, about, { team: {}, env: { [key]: "secret" } });

    expect(policy.hosts).not.toEqual([]);
  });
});

test("a new member of DONE stands in the specification", () => {
  const members = Object.keys(ChatAnswer.shape.interaction.shape);

  expect(lacking(members, ["docs/spec/conversation.md"])).toEqual([]);
});

test("a new status stands on the pages that tell of its kind", () => {
  expect(lacking(JOB_STATUSES, ["docs/spec/jobs.md", "ARCHITECTURE.md"])).toEqual([]);
  expect(lacking(PLAN_RUN_STATUSES, ["ARCHITECTURE.md"])).toEqual([]);
  expect(lacking(PORT_STATUSES, ["docs/spec/plans.md"])).toEqual([]);
});

test("a new setting is one of the configuration, and what it allows is said in Korean", () => {
  const paths = Object.values<object>(SETTINGS).flatMap((setting) =>
    "path" in setting ? [(setting.path as readonly string[]).join(".")] : [],
  );
  const variables = Object.values<Variable<unknown>>(VARIABLES);
  const korean = translatorOf(ALLOWED_KO);
  const names = [...paths, ...variables.map(({ name }) => name)].map((name) => `\`${name}\``);

  expect(lacking(names, ["docs/reference/configuration.md"])).toEqual([]);
  const untold = variables.filter(({ allowed }) => korean(allowed) === undefined);
  expect(untold.map(({ name }) => name)).toEqual([VARIABLES.logLevel.name]); // names of levels
});

describe("a new language", () => {
  test("has its prompts, templates, pages and words of the dashboard", () => {
    const others = LOCALES.filter((locale) => locale !== "en"); // without an ending
    const templates = globSync("packages/dure/templates/*", { cwd: ROOT });
    const english = templates.filter((folder) => !/-[a-z]{2}$/u.test(folder));

    expect(english).not.toEqual([]);
    expect(LANGUAGES).toEqual(LOCALES);
    const files = others.flatMap((locale) => [
      ...english.map((folder) => `${folder}-${locale}`),
      ...[`README.${locale}.md`, `docs/${locale}`],
    ]);
    const prompts = LOCALES.flatMap((locale) =>
      PROMPT_NAMES.map((name) => `packages/dure/prompts/${name}.${locale}.md`),
    );
    expect(missing([...files, ...prompts])).toEqual([]);
  });

  test("makes each choice between two languages red", () => {
    const either = /[=!]== "(?:ko|en)"|startsWith\("(?:ko|en)"\)|\bis(?:English|Korean)\b/u;
    const files = globSync("packages/{dure,dashboard}/src/**/*.{ts,tsx}", { cwd: ROOT });
    const choosing = files.filter((file) => !file.includes(".test.") && either.test(read(file)));

    expect(choosing.length).toBeGreaterThan(10);
    expect(LOCALES.length === 2 ? [] : choosing).toEqual([]);
  });
});
