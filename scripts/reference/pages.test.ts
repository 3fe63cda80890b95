/** The generated pages of docs/reference: how they read a source, and that nothing is left out. */

import { expect, test } from "vitest";
import { SETTINGS } from "../../packages/dure/src/team/limits.ts";
import { configurationPage } from "./configuration.ts";
import { errorsIn } from "./errors.ts";
import { membersTable } from "./events.ts";
import { settingsIn } from "./settings.ts";

const SCHEMA = `
const hook = settings({
  /** Not stored. */
  secret: text,
});
const teamSchema = settings({
  /** Shown to people. */
  name: z.string({ error: "must be a short text" }).optional(),
  limits: settings({ calls: wholeNumber(1, 1_000).optional() }).optional(),
  hooks: z
    .record(id, hook)
    .refine((given) => given)
    .optional(),
});
`;

test("a setting has its path, its comment and what is allowed, also within a record", () => {
  expect(settingsIn([SCHEMA])).toEqual([
    { path: "name", about: "Shown to people.", allowed: "a short text" },
    { path: "limits.calls", about: "", allowed: "a whole number from 1 to 1000" },
    { path: "hooks.<name>.secret", about: "Not stored.", allowed: "a text" },
  ]);
});

test("every setting with a default stands in the page of the configuration", async () => {
  const page = await configurationPage();
  const paths = Object.values(SETTINGS).flatMap((one) => ("path" in one ? [one.path] : []));

  expect(paths.length).toBeGreaterThan(50);
  expect(paths.filter((path) => !page.includes(`| \`${path.join(".")}\` |`))).toEqual([]);
});

test("an error has its code, its class, its message with gaps and what to do", () => {
  const text =
    'throw new DureError("PLAN_LOST", `The plan ${name} is gone.`, { class: "not-found", hint: "Look " + "again." });' +
    "throw new DureError(code, message); throw new TypeError('other');";

  expect(errorsIn("toy.ts", text)).toEqual([
    {
      code: "PLAN_LOST",
      class: "not-found",
      message: "The plan … is gone.",
      hint: "Look again.",
    },
  ]);
});

test("members are told as TypeScript writes them, and those that may be absent are marked", () => {
  const table = membersTable({
    properties: { at: { type: "number" }, by: { anyOf: [{ type: "string" }, { type: "null" }] } },
    required: ["at"],
  });

  expect(table.split("\n").slice(2)).toEqual([
    "| `at` | `number` |",
    "| `by?` | `string \\| null` |",
  ]);
});
