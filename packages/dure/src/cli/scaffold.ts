import type { Locale } from "../kernel/locales.ts";
import { cp, mkdir, readdir, readFile, rename, writeFile } from "node:fs/promises";
import { existsSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { Script } from "node:vm";
import { LOAD_SKILL } from "../engine/agent/skills.ts";
import { TEAM_TOOLS } from "../engine/agent/team-tools.ts";
import { READY_TOOLS } from "../engine/files/load-service.ts";
import { codeOf, DureError } from "../kernel/errors.ts";
import { isTeamFolder } from "../team/config-files.ts";
import { toolsInFolder } from "../team/own-tools.ts";

type ScaffoldKind = "team" | "service" | "agent" | "agent-md" | "tool" | "skill" | "plan";
/** A folder of `templates`. */
export type Template = ScaffoldKind | `${ScaffoldKind}-ko`;

const TEMPLATES = fileURLToPath(new URL("../../templates/", import.meta.url));

export interface Names {
  /** As the person wrote it, for titles. */
  readonly title: string;
  /** For keys, folders and packages. */
  readonly name: string;
}

/**
 * The names that follow from what a person wrote. `내 팀` is the folder and the service `내-팀`; a
 * package, which npm allows only lower-case Latin letters, is then `nae-tim`. Throws
 * `NAME_INVALID`.
 */
export function namesOf(written: string, what: "team" | "service" | "agent"): Names {
  const title = written.normalize("NFC").trim().replace(/\s+/g, " ");
  const name = title.replaceAll(" ", "-");
  if (/^[\p{L}\p{N}][\p{L}\p{N}_-]{0,63}$/u.test(name)) return { title, name };

  throw new DureError("NAME_INVALID", `"${written}" cannot be the name of a ${what}.`, {
    class: "input",
    hint: "Use 1 to 64 letters (한글 too), digits, spaces, _ or -, and begin with a letter or digit.",
  });
}

interface NewPart {
  /** Of the team. */
  readonly folder: string;
  readonly locale: Locale;
}

/** What was written, and where. */
interface MadePart {
  readonly file: string;
  readonly names: Names;
}

/** Writes `agents/<name>/agent.md` of a team's folder, which is an agent then. */
export async function newAgent(written: string, { folder, locale }: NewPart): Promise<MadePart> {
  const names = namesOf(written, "agent");
  if (!/^[A-Za-z0-9_-]+$/.test(names.name)) {
    throw new DureError("NAME_INVALID", `"${written}" cannot be the id of an agent.`, {
      class: "input",
      hint: "Use Latin letters, digits, _ or -; its name in any script is `name` in its agent.md.",
    });
  }

  assertTeam(folder);
  const own = path.resolve(folder, "agents", names.name);
  await assertEmpty(own);
  await copyTemplate(inLocale("agent-md", locale), own, { AGENT_TITLE: names.title });

  return { file: path.join(own, "agent.md"), names };
}

/** Writes `tools/<name>.ts` of a team's folder. */
export async function newTool(written: string, { folder, locale }: NewPart): Promise<MadePart> {
  const name = written.trim();
  if (!isToolName(name)) {
    throw new DureError("NAME_INVALID", `"${written}" cannot be the name of a tool.`, {
      class: "input",
      hint:
        "Use 1 to 64 Latin letters, digits or _, and begin with a letter: code exports it by this " +
        "name. Names of dure's own tools are taken.",
    });
  }

  assertTeam(folder);
  const text = await templateText(inLocale("tool", locale), "tool.ts");
  const file = path.resolve(folder, "tools", `${name}.ts`);
  if (toolsInFolder(folder).includes(name)) throw fileExists(path.join(folder, "tools", name));
  await writeNew(file, text.replaceAll("TOOL_NAME", name));

  return { file, names: { title: name, name } };
}

/** Writes `skills/<name>/SKILL.md` of a team's folder. */
export async function newSkill(written: string, { folder, locale }: NewPart): Promise<MadePart> {
  const name = written.trim();
  if (!/^[a-z0-9]+(?:-[a-z0-9]+)*$/.test(name) || name.length > 64) {
    throw new DureError("NAME_INVALID", `"${written}" cannot be the name of a skill.`, {
      class: "input",
      hint: "Use 1 to 64 lower-case letters of a-z, digits, and single hyphens between them.",
    });
  }

  assertTeam(folder);
  const own = path.resolve(folder, "skills", name);
  await assertEmpty(own);
  await copyTemplate(inLocale("skill", locale), own, { SKILL_NAME: name });

  return { file: path.join(own, "SKILL.md"), names: { title: name, name } };
}

/** Names of tools that agents have from dure: a file of this name would not be asked. */
const TAKEN: readonly string[] = [
  ...TEAM_TOOLS,
  ...Object.keys(READY_TOOLS),
  "remember",
  LOAD_SKILL,
];

/** Whether code can export it, and providers and dure take it. */
function isToolName(name: string): boolean {
  if (!/^[A-Za-z_][A-Za-z0-9_]{0,63}$/.test(name) || TAKEN.includes(name)) return false;
  try {
    // Compiled and never run: a word of the language cannot be a name.
    return new Script(`"use strict"; (async () => { const ${name} = 0; })`) instanceof Script;
  } catch {
    return false;
  }
}

/** A template in a language. */
export function inLocale(template: ScaffoldKind, locale: Locale): Template {
  return locale === "en" ? template : `${template}-${locale}`;
}

/** Copies `templates/service` into `services/<name>` of a team's folder. */
export async function newService(
  written: string,
  options: { folder: string },
): Promise<{ folder: string; names: Names }> {
  const names = namesOf(written, "service");
  assertTeam(options.folder);
  const folder = path.resolve(options.folder, "services", names.name);
  await assertEmpty(folder);
  await copyTemplate("service", folder, {
    SERVICE_TITLE: names.title,
    SERVICE_NAME: names.name,
    SERVICE_ABOUT: "One agent that answers.",
    SERVICE_EXAMPLE: "Hello! What can you do?",
  });

  return { folder, names };
}

/** Writes `plans/<name>.yaml` from the template. Throws `NAME_INVALID`, `FILE_EXISTS`. */
export async function newPlan(
  written: string,
  options: { folder: string; template?: Template | undefined },
): Promise<{ file: string; name: string }> {
  const name = written.trim();
  if (!/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/.test(name)) {
    throw new DureError("NAME_INVALID", `"${written}" cannot be the name of a plan.`, {
      class: "input",
      hint:
        "Use 1 to 64 Latin letters, digits, _ or -, and begin with a letter or digit: branches are " +
        "called by it.",
    });
  }

  const file = path.resolve(options.folder, "plans", `${name}.yaml`);

  const text = await templateText(options.template ?? "plan", "plan.yaml");
  await writeNew(file, text.replaceAll("{{PLAN_NAME}}", name));

  return { file, name };
}

function templateText(template: Template, file: string): Promise<string> {
  return readFile(path.join(TEMPLATES, template, file), "utf8");
}

/** Throws `FILE_EXISTS`. */
async function writeNew(file: string, text: string): Promise<void> {
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, text, { flag: "wx" }).catch((error: unknown) => {
    throw codeOf(error) === "EEXIST" ? fileExists(file) : error;
  });
}

function fileExists(file: string): DureError {
  return new DureError("FILE_EXISTS", `${file} exists; nothing was written.`, {
    class: "input",
    hint: "Choose another name.",
  });
}

/** Whether modules in `folder` find the package `dure`, in its own node_modules or above. */
export function findsDure(folder: string): boolean {
  for (let current = path.resolve(folder); ; current = path.dirname(current)) {
    if (existsSync(path.join(current, "node_modules", "dure", "package.json"))) return true;
    if (current === path.dirname(current)) return false;
  }
}

/** A part of a team works in a team alone. Throws `TEAM_NOT_FOUND`. */
function assertTeam(folder: string): void {
  if (isTeamFolder(folder)) return;
  throw new DureError(
    "TEAM_NOT_FOUND",
    `There is no team in ${path.resolve(folder)}; nothing was written.`,
    { class: "input", hint: "Make one: dure init my-team. Or name its folder with --dir." },
  );
}

/** Throws `FOLDER_NOT_EMPTY`. */
export async function assertEmpty(folder: string): Promise<void> {
  const files = existsSync(folder)
    ? await readdir(folder).catch(() => ["a file of this name"])
    : [];
  if (files.length === 0) return;

  throw new DureError(
    "FOLDER_NOT_EMPTY",
    `${folder} exists and is not empty; nothing was written.`,
    {
      class: "input",
      hint: "Choose another name, or empty the folder yourself.",
      details: { folder, files: files.slice(0, 10) },
    },
  );
}

/** Files whose name begins with `_` get a dot instead: npm leaves `.gitignore` out of packages. */
export async function copyTemplate(
  template: Template,
  folder: string,
  values: Readonly<Record<string, string>>,
): Promise<void> {
  await mkdir(folder, { recursive: true });
  await cp(path.join(TEMPLATES, template), folder, { recursive: true });

  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const file = path.join(entry.parentPath, entry.name);
    const text = await readFile(file, "utf8");
    await writeFile(
      file,
      text.replace(/\{\{(\w+)\}\}/g, (whole, key: string) => values[key] ?? whole),
    );
    if (entry.name.startsWith("_")) {
      await rename(file, path.join(entry.parentPath, `.${entry.name.slice(1)}`));
    }
  }
}
