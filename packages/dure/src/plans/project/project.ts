/** How a repository is set up and tested: what its files say. */

import { isObject } from "../../kernel/json.ts";
import { readProjectFile, type ProjectFile } from "./project-file.ts";
import { hostsOfCommand, type MachineSetting, withSettings } from "./tools.ts";

/** What is known of a repository before anything runs in it. */
export interface Project {
  /** A shell command that brings what git does not keep. Absent: nothing has to be brought. */
  readonly setup?: string | undefined;
  /** The files that say so. */
  readonly from: readonly string[];
  /** What the setup may reach. */
  readonly hosts: readonly string[];
  /** A shell command that tests it. */
  readonly acceptance?: string | undefined;
  /** Patterns that a task may change, and those of its tests, where it names none. */
  readonly own?: readonly string[] | undefined;
  readonly tests?: readonly string[] | undefined;
  readonly agent?: ProjectFile["agent"];
  /** A command of the repository that is shown, and not run. */
  readonly unused?: { readonly file: string; readonly command: string } | undefined;
}

/** The files of one commit, as far as they matter. */
export interface ProjectFiles {
  /** Paths, from the root. */
  readonly paths: readonly string[];
  /** What stands in files of {@link READ_FILES} that are there. */
  readonly texts: ReadonlyMap<string, string>;
}

const PROJECT_FILE = ".dure/project.yaml";
const DEVCONTAINERS = [".devcontainer/devcontainer.json", ".devcontainer.json"] as const;

/** Files whose text says something. All others are known by their names. */
export const READ_FILES: readonly string[] = [
  PROJECT_FILE,
  "package.json",
  ".npmrc",
  "pyproject.toml",
  "Makefile",
  ...DEVCONTAINERS,
];

/**
 * How a repository is set up: as `.dure/project.yaml` says, else as its files let one know. Pure.
 * Throws `PROJECT_INVALID`.
 *
 * @param settings of this machine, for what fetches
 */
export function projectOf(files: ProjectFiles, settings: readonly MachineSetting[] = []): Project {
  const text = files.texts.get(PROJECT_FILE);
  const said = text === undefined ? {} : readProjectFile(PROJECT_FILE, text);
  const found = SETUPS.flatMap((rule) => rule(files) ?? []);
  const detected = found.length === 0 ? undefined : found.map(({ setup }) => setup).join(" && ");
  const setup = said.setup ?? detected;
  const { own, tests, agent } = said;
  const unused = devcontainerOf(files);
  const acceptance = said.acceptance ?? testOf(files);
  const known = { acceptance, own, tests, agent, unused };
  if (setup === undefined) return { ...known, from: [], hosts: [] };

  const used = withSettings(setup, settings);
  const hosts = said.setupHosts ?? [...hostsOfCommand(setup), ...committedRegistries(files)];
  return {
    ...known,
    setup: used.command,
    from: said.setup === undefined ? found.map(({ file }) => file) : [PROJECT_FILE],
    hosts: [...new Set([...hosts, ...used.hosts])],
  };
}

interface FoundSetup {
  readonly file: string;
  readonly setup: string;
}

type SetupRule = (files: ProjectFiles) => FoundSetup | undefined;

/** One per language; within it the first file that is there decides. */
const SETUPS: readonly SetupRule[] = [
  firstOf([
    ["package-lock.json", "npm ci"],
    ["npm-shrinkwrap.json", "npm ci"],
    ["pnpm-lock.yaml", "pnpm install --frozen-lockfile"],
    [".yarnrc.yml", "yarn install --immutable"],
    ["yarn.lock", "yarn install --frozen-lockfile"],
    ["bun.lock", "bun install --frozen-lockfile"],
    ["bun.lockb", "bun install --frozen-lockfile"],
  ]),
  pythonOf,
  firstOf([["go.mod", "GOFLAGS=-modcacherw go mod download"]]),
  firstOf([["Cargo.lock", "cargo fetch --locked"]]),
];

function firstOf(rules: readonly (readonly [string, string])[]): SetupRule {
  return ({ paths }) => {
    const rule = rules.find(([file]) => paths.includes(file));
    return rule && { file: rule[0], setup: rule[1] };
  };
}

const VENV = "python3 -m venv .venv && .venv/bin/python -m pip install --quiet";

/** A virtual environment in the tree: no worker sees that of the machine. Pure. */
function pythonOf({ paths, texts }: ProjectFiles): FoundSetup | undefined {
  const locked = firstOf([
    ["uv.lock", "uv sync --frozen"],
    ["poetry.lock", "POETRY_VIRTUALENVS_IN_PROJECT=1 poetry install --no-interaction"],
  ])({ paths, texts });
  if (locked) return locked;

  const lists = paths.filter((path) => /^requirements[\w.-]*\.txt$/.test(path));
  if (lists.length > 0) {
    const named = lists.map((file) => `-r ${file}`).join(" ");
    return { file: lists[0]!, setup: `${VENV} ${named}` };
  }
  const isPackage = /^\[(?:project|tool\.poetry)\]/m.test(texts.get("pyproject.toml") ?? "");
  return isPackage ? { file: "pyproject.toml", setup: `${VENV} -e .` } : undefined;
}

/** What npm writes where there is no test. */
const NO_TEST = /no test specified/;

/** The command that the files name for their tests; undefined: they name none. Pure. */
function testOf({ texts }: ProjectFiles): string | undefined {
  const scripts = jsonIn(texts.get("package.json"))?.["scripts"];
  const script = isObject(scripts) ? scripts["test"] : undefined;
  if (typeof script === "string" && !NO_TEST.test(script)) return "npm test";

  const target = /^(test|check)\s*:(?!=)/m.exec(texts.get("Makefile") ?? "");
  return target ? `make ${target[1]}` : undefined;
}

/** Registries of a committed .npmrc. Pure. */
function committedRegistries({ texts }: ProjectFiles): readonly string[] {
  const lines = texts.get(".npmrc")?.matchAll(/^\s*(?:@[\w.-]+:)?registry\s*=\s*(\S+)/gm) ?? [];
  return [...lines].flatMap(([, url = ""]) => (URL.canParse(url) ? new URL(url).host : []));
}

/** Its commands are for a container of its own, as root: a person decides whether they fit here. */
function devcontainerOf({ texts }: ProjectFiles): Project["unused"] {
  for (const file of DEVCONTAINERS) {
    const command = /"postCreateCommand"\s*:\s*("(?:[^"\\\n]|\\.)*")/.exec(texts.get(file) ?? "");
    const said: unknown = command && JSON.parse(command[1]!);
    if (typeof said === "string") return { file, command: said.slice(0, 300) };
  }
  return undefined;
}

function jsonIn(text = "null"): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined; // npm itself says what is wrong with it
  }
}
