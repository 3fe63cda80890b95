import { constants } from "node:fs";
import {
  lstat,
  mkdir,
  open,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  stat,
  unlink,
  utimes,
} from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { DureError, codeOf } from "../../kernel/errors.ts";
import type { McpServer, WorkerSpec } from "../plan.ts";
import {
  CLAUDE_SERVERS,
  claudeServers,
  CODEX_SETTINGS_FILE,
  codexSettings,
  filledServers,
} from "./mcp-servers.ts";
import { HOME_SETTINGS, type HomeSettings } from "./home-settings.ts";
import type { AgentName } from "./presets.ts";

/** Files and bytes of one home's copies. A login and its settings take a few kilobytes. */
const MAX_FILES = 200;
const MAX_BYTES = 10_000_000;

/** The folder of one member of a port: its home, and beside it what is temporary. */
export interface MemberPlace {
  /** Absolute real path; what is in it is the member's alone. */
  readonly folder: string;
  readonly home: string;
  readonly tmp: string;
}

/** Below a port's scratch folder. Pure. */
export function memberPlace(scratch: string, name: string): MemberPlace {
  const folder = join(scratch, name);

  return { folder, home: join(folder, "home"), tmp: join(folder, "tmp") };
}

/**
 * Makes the folders of a member, and copies into its home what its worker may have of the person's.
 * Nothing is ever written back, and no link that an earlier worker left is written through. What the
 * agent has renewed itself (a login) stays.
 *
 * Throws `COPY_HOME_TOO_LARGE`.
 */
export async function prepareHome(
  place: MemberPlace,
  spec: Pick<WorkerSpec, "agent" | "copyHome" | "mcpServers"> & { readonly kind?: string },
  { home: personsHome, env = {} }: PersonsPlace,
): Promise<void> {
  await mkdir(place.folder, { recursive: true });
  for (const folder of [place.home, place.tmp]) await realFolder(folder);
  const files =
    personsHome === undefined ? [] : await filesToCopy(personsHome, spec.copyHome ?? []);
  const settings = spec.agent === undefined ? [] : HOME_SETTINGS[spec.agent];
  for (const { path, at } of files) {
    if (!settings.some((one) => one.path === path)) await copy(at, { place, path });
  }

  for (const one of settings) await writeSettings(place, one, files);
  if (spec.kind === "command" && spec.mcpServers) {
    await writeServers(place, spec.agent, filledServers(spec.mcpServers, env));
  }
}

/** What copies and values are taken from. */
export interface PersonsPlace {
  readonly home: string | undefined;
  /** dure's own environment, for the variables that MCP servers are given. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
}

interface OriginalFile {
  /** Below the home folder. */
  readonly path: string;
  /** Where it is. */
  readonly at: string;
}

async function filesToCopy(home: string, paths: readonly string[]): Promise<OriginalFile[]> {
  const found: OriginalFile[] = [];
  let bytes = 0;
  const take = async (path: string): Promise<void> => {
    const at = join(home, path);
    const entry = await stat(at).catch(() => undefined);
    if (entry?.isDirectory()) {
      for (const name of (await readdir(at)).sort()) await take(join(path, name));

      return;
    }

    if (!entry?.isFile()) return;
    bytes += entry.size;
    found.push({ path, at: await realpath(at) });
    if (found.length <= MAX_FILES && bytes <= MAX_BYTES) return;
    throw new DureError(
      "COPY_HOME_TOO_LARGE",
      `What a worker's copy_home names is more than ${MAX_FILES} files or ${MAX_BYTES} bytes.`,
      { class: "limit", hint: "Name single files, such as .claude/settings.json." },
    );
  };
  for (const path of new Set(paths)) await take(path);

  return found;
}

/** Copies what is newer than the copy that is there. */
async function copy(
  original: string,
  { place, path }: { readonly place: MemberPlace; readonly path: string },
): Promise<void> {
  const target = join(place.home, path);
  await foldersTo(place.home, path);
  const { mtime, mtimeMs } = await stat(original);
  const there = await lstat(target).catch(() => undefined);
  if (there?.isFile() && there.mtimeMs >= Math.floor(mtimeMs)) return;
  await writeOver(target, await readFile(original));
  await utimes(target, mtime, mtime);
}

/** Makes the folders above a file of the home; what is no folder there goes away. */
async function foldersTo(home: string, path: string): Promise<void> {
  let folder = home;
  for (const name of dirname(path).split("/")) {
    if (name === ".") continue;
    folder = join(folder, name);
    await realFolder(folder);
  }
}

/** A folder, and no link to one. */
async function realFolder(folder: string): Promise<void> {
  const there = await lstat(folder).catch(() => undefined);
  if (there?.isDirectory()) return;
  if (there) await unlink(folder);
  await mkdir(folder, { mode: 0o700 });
}

/** Puts a file in the place of whatever has this name. Only its owner reads it. */
async function writeOver(target: string, text: Buffer | string): Promise<void> {
  const fresh = join(dirname(target), `.dure-${basename(target)}`);
  await unlink(fresh).catch((error: unknown) => {
    if (codeOf(error) !== "ENOENT") throw error;
  });
  const how = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
  const file = await open(fresh, how, 0o600);
  try {
    await file.writeFile(text);
  } finally {
    await file.close();
  }
  const there = await lstat(target).catch(() => undefined);
  if (there?.isDirectory()) await rm(target, { recursive: true });
  await rename(fresh, target);
}

// --- settings that dure writes itself

/** The person's settings without what runs programs. What a worker has planted there is gone. */
async function writeSettings(
  place: MemberPlace,
  { path, read }: HomeSettings,
  files: readonly OriginalFile[],
): Promise<void> {
  const original = files.find((file) => file.path === path);
  const text = read(original && (await readFile(original.at, "utf8")));
  await foldersTo(place.home, path);
  const target = join(place.home, path);
  if (text === undefined) await rm(target, { recursive: true, force: true });
  else await writeOver(target, text);
}

/** MCP servers of an agent that is started as a program, where it reads its settings. */
async function writeServers(
  place: MemberPlace,
  agent: AgentName | undefined,
  servers: readonly McpServer[],
): Promise<void> {
  const path = agent === "codex" ? CODEX_SETTINGS_FILE : CLAUDE_SERVERS;
  const target = join(place.home, path);
  await foldersTo(place.home, path);
  const there = await lstat(target).catch(() => undefined);
  const own = there?.isFile() ? await readFile(target, "utf8") : "";
  const text = agent === "codex" ? codexSettings(own, servers) : claudeServers(servers);
  await writeOver(target, text);
}
