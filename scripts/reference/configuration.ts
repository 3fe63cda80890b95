/** The reference of the configuration: its settings with their defaults, and the environment. */

import { readFile } from "node:fs/promises";
import path from "node:path";
import { BOT_TOKENS } from "../../packages/dure/src/kernel/bot-tokens.ts";
import { VARIABLES } from "../../packages/dure/src/team/environment.ts";
import { SETTINGS } from "../../packages/dure/src/team/limits.ts";
import { root } from "../processes.ts";
import { codeOf, MADE, plain, tableOf } from "./markdown.ts";
import { settingsIn } from "./settings.ts";

/** The schema, and where parts of it come from. */
const SOURCES = [
  "team/config.ts",
  "engine/files/load-service-schema.ts",
  "schedules/decide-due.ts",
  "kernel/locales.ts",
  "plans/plan-schema.ts",
];

const TOKENS = new Intl.ListFormat("en-GB");

/** The page `configuration.md`. */
export async function configurationPage(): Promise<string> {
  const texts = await Promise.all(
    SOURCES.map((name) => readFile(path.join(root, "packages/dure/src", name), "utf8")),
  );
  const settings = settingsIn(texts).map(({ path: name, about, allowed }) => [
    codeOf(name),
    plain(about),
    plain(allowed),
    defaultOf(name),
  ]);
  const variables = Object.values(VARIABLES).map((one) => [
    codeOf(one.name),
    plain(one.description),
    plain(one.allowed),
    "secret" in one ? "yes" : "",
  ]);

  const tokens = Object.values(BOT_TOKENS)
    .flat()
    .map((name) => codeOf(`${name}_<AGENT>`));

  return `${[
    "# Configuration",
    MADE,
    "A team is configured in `dure.config.ts` (`defineTeam`) or in `dure.yaml`, in which keys may " +
      "also be written with `_`. `npx dure doctor` prints each value and where it comes from.",
    "## Settings",
    "`<name>` is a name that the team chooses. A duration is `250ms`, `10s`, `5m`, `1h` or `7d`.",
    tableOf(["setting", "is", "allowed", "default"], settings),
    "## Environment",
    "It goes before the configuration. A secret is never printed, logged or stored.",
    tableOf(["variable", "is", "allowed", "secret"], variables),
    `Accounts of agents on platforms are ${TOKENS.format(tokens)}.`,
  ].join("\n\n")}\n`;
}

/** As people write it; empty: it has none, or its comment says it. */
function defaultOf(name: string): string {
  const known = Object.values(SETTINGS).find((one) => "path" in one && pathOf(one) === name);
  if (known === undefined || known.fallback === undefined) return "";
  const { fallback } = known;
  if (Array.isArray(fallback)) return fallback.length === 0 ? "none" : codeOf(fallback.join(", "));
  const isTime = "unit" in known && known.unit === "ms" && typeof fallback === "number";
  const plain = typeof fallback === "object" ? JSON.stringify(fallback) : String(fallback);
  return codeOf(isTime ? durationOf(fallback) : plain);
}

function pathOf({ path: names = [] }: { readonly path?: readonly string[] }): string {
  return names.join(".");
}

/** In the largest unit that divides it. Pure. */
function durationOf(ms: number): string {
  const units = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1_000 };
  const fits = Object.entries(units).find(([, size]) => ms > 0 && ms % size === 0);
  return fits === undefined ? `${ms}ms` : `${ms / fits[1]}${fits[0]}`;
}
