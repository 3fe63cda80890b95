import { constants, existsSync, readdirSync } from "node:fs";
import { open, readdir, readFile, realpath } from "node:fs/promises";
import path from "node:path";
import { z } from "zod";
import { codeOf, DureError } from "../../kernel/errors.ts";
import { isObject } from "../../kernel/json.ts";
import { readFrontMatter } from "./front-matter.ts";
import { problemAt, problemsError, problemsOf, type Problem } from "./load-service-document.ts";

/**
 * Instructions for one kind of work, which an agent loads when it does that work. Source: the open
 * Agent Skills format, agentskills.io/specification.
 */
export interface Skill {
  readonly name: string;
  /** What it does, and when to use it. */
  readonly description: string;
  /** What it needs around it, such as programs. */
  readonly compatibility?: string | undefined;
  /** What stands below its settings. */
  readonly instructions: string;
  /** Absolute. Its other files are read when they are asked for. */
  readonly folder: string;
  /** Settings that the format does not have. */
  readonly unknownKeys: readonly string[];
}

/** Skills of one team. */
const MOST_SKILLS = 100;
/** Bytes of one reading: with a word about what follows it fits a tool's result. */
export const MOST_READ = 60_000;
/** Files of a skill that are listed, and how deep they lie. */
const MOST_FILES = 100;
const MOST_DEPTH = 5;

const SKILL_FILE = "SKILL.md";
const NAME = "must be lower-case letters, digits and single hyphens, 64 at most";
const shortText = (most: number) => {
  const error = `must be a text of 1 to ${most} characters`;
  return z.string({ error }).trim().min(1, { error }).max(most, { error });
};
const head = z.looseObject({
  name: z
    .string({ error: NAME })
    .max(64, { error: NAME })
    .regex(/^[a-z0-9]+(?:-[a-z0-9]+)*$/, { error: NAME }),
  description: shortText(1_024),
  license: shortText(1_000).optional(),
  compatibility: shortText(500).optional(),
  metadata: z.record(z.string(), z.unknown(), { error: "must be a group of keys" }).optional(),
  "allowed-tools": z
    .union([z.string(), z.array(z.string())], { error: "must be names of tools" })
    .optional(),
});
const KNOWN_KEYS: readonly string[] = Object.keys(head.shape);

/**
 * The skills below `skills/` of a folder, in the order of their names: each folder there with a
 * SKILL.md. Throws `SKILL_INVALID` with every problem at its file and line.
 */
export async function readSkills(root: string): Promise<readonly Skill[]> {
  const names = skillFolders(root);
  const problems: Problem[] = [];
  if (names.length > MOST_SKILLS) {
    const message = `has ${names.length} skills; ${MOST_SKILLS} are allowed`;
    problems.push({ file: "skills", key: "", message, hint: "Join some, or move them away" });
  }

  const skills: Skill[] = [];
  for (const name of names.slice(0, MOST_SKILLS)) {
    const read = await readSkill(name, path.join(root, "skills", name));
    if ("problems" in read) problems.push(...read.problems);
    else skills.push(read);
  }
  if (problems.length > 0) throw problemsError("SKILL_INVALID", "skills", problems);

  return skills;
}

function skillFolders(root: string): readonly string[] {
  const folder = path.join(root, "skills");
  try {
    return readdirSync(folder)
      .filter((name) => existsSync(path.join(folder, name, SKILL_FILE)))
      .toSorted();
  } catch (error) {
    if (codeOf(error) === "ENOENT" || codeOf(error) === "ENOTDIR") return [];
    throw error;
  }
}

async function readSkill(
  name: string,
  folder: string,
): Promise<Skill | { readonly problems: readonly Problem[] }> {
  const file = `skills/${name}/${SKILL_FILE}`;
  const text = await readFile(path.join(folder, SKILL_FILE), "utf8");
  const made = skillOf(file, text, name);
  return "problems" in made ? made : { ...made, folder };
}

/** Pure. @param name that of its folder */
export function skillOf(
  file: string,
  text: string,
  name: string,
): Omit<Skill, "folder"> | { readonly problems: readonly Problem[] } {
  const bytes = Buffer.byteLength(text);
  if (bytes > MOST_READ) {
    const message = `has ${bytes} bytes; ${MOST_READ} are allowed`;
    const hint = "Move parts into files of references/, which are read when they are needed";
    return { problems: [{ file, key: "", message, hint }] };
  }
  const { document, problems, body } = readFrontMatter(file, text);
  const read = head.safeParse(document.value ?? {});
  if (problems.length > 0) return { problems };
  if (!read.success) return { problems: problemsOf(read.error, document) };
  if (read.data.name !== name) {
    const allowed = `the name of its folder: ${name}`;
    return { problems: [problemAt(document, ["name"], "is another name", { allowed })] };
  }

  const { description, compatibility } = read.data;
  const keys = isObject(document.value) ? Object.keys(document.value) : [];
  return {
    name,
    description,
    compatibility,
    instructions: body,
    unknownKeys: keys.filter((key) => !KNOWN_KEYS.includes(key)),
  };
}

/** Paths of the files beside SKILL.md, from the skill's folder; no links, no hidden ones. */
export async function filesOfSkill({ folder }: Pick<Skill, "folder">): Promise<SkillFiles> {
  const files: string[] = [];
  const open: string[] = [""];
  while (open.length > 0 && files.length <= MOST_FILES) {
    const at = open.shift()!;
    const entries = await readdir(path.join(folder, at), { withFileTypes: true });
    for (const entry of entries.toSorted((one, other) => (one.name < other.name ? -1 : 1))) {
      const file = at === "" ? entry.name : `${at}/${entry.name}`;
      if (entry.name.startsWith(".") || file === SKILL_FILE) continue;
      if (entry.isFile()) files.push(file);
      if (entry.isDirectory() && file.split("/").length < MOST_DEPTH) open.push(file);
    }
  }

  return { files: files.slice(0, MOST_FILES), isCut: files.length > MOST_FILES };
}

/** What `filesOfSkill` lists. */
export interface SkillFiles {
  readonly files: readonly string[];
  /** There are more. */
  readonly isCut: boolean;
}

/** A part of a file. */
export interface SkillPart {
  readonly text: string;
  /** Bytes of the whole file. */
  readonly bytes: number;
  /** Where the next part begins; undefined at the end. */
  readonly next: number | undefined;
}

/**
 * A part of a file of a skill, from byte `from` on. No path leads out of the skill's folder, also
 * not through a link. Throws `SKILL_FILE_UNKNOWN`, `SKILL_FILE_UNREADABLE`.
 */
export async function readSkillFile(
  skill: Pick<Skill, "name" | "folder">,
  file: string,
  from = 0,
): Promise<SkillPart> {
  const at = await placeOf(skill, file);
  await using handle = await open(
    at,
    constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK,
  );
  const stat = await handle.stat();
  if (!stat.isFile()) throw fileUnknown(skill, file);
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(MOST_READ), 0, MOST_READ, from);
  const text = textOf(buffer.subarray(0, bytesRead));
  if (text === undefined) throw unreadable(skill, file);
  const end = from + Buffer.byteLength(text);

  return { text, bytes: stat.size, next: end < stat.size && text !== "" ? end : undefined };
}

/** Its real path, which is the one that was asked for within the skill's real folder. */
async function placeOf(skill: Pick<Skill, "name" | "folder">, file: string): Promise<string> {
  const parts = file.split("/");
  const isPlain = parts.every(
    (part) => part !== "" && !part.startsWith(".") && !/[\\\0]/.test(part),
  );
  if (!isPlain) throw fileUnknown(skill, file);
  const asked = path.join(await realpath(skill.folder), ...parts);
  const real = await realpath(asked).catch(() => undefined);
  if (real !== asked) throw fileUnknown(skill, file);

  return asked;
}

/** Undefined: no UTF-8. A letter that the end cuts is left for the next part. Pure. */
function textOf(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes, {
      stream: true,
    });
  } catch {
    return undefined;
  }
}

function fileUnknown({ name }: Pick<Skill, "name">, file: string): DureError {
  return new DureError("SKILL_FILE_UNKNOWN", `The skill ${name} has no file "${file}".`, {
    class: "input",
    hint: `Load the skill ${name} without a file: it lists its files.`,
  });
}

function unreadable({ name }: Pick<Skill, "name">, file: string): DureError {
  return new DureError("SKILL_FILE_UNREADABLE", `${file} of the skill ${name} is no text.`, {
    class: "input",
    hint: "Only UTF-8 text can be read.",
  });
}
