/** The software of this machine that a worker may see. */

import path from "node:path";
import {
  existsSync,
  lstatSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  readFileSync,
} from "node:fs";
import { fileURLToPath } from "node:url";
import { isWithin } from "./mount-plan.ts";
import { MADE_ANEW } from "./check.ts";

/** What is shown, read-only, of the machine: programs, and the settings that they ask for. */
export interface Software {
  /** Real paths, none in another. */
  readonly places: readonly string[];
  /** Symbolic links on the way to them, which are made anew. */
  readonly links: readonly Link[];
  /** Where toolchains of the home folder are, for their programs: a worker's home is another. */
  readonly variables: Readonly<Record<string, string>>;
}

export interface Link {
  readonly at: string;
  readonly to: string;
}

/**
 * Where version managers keep toolchains, below a home folder: programs and nothing else. What lies
 * beside them (`.cargo/credentials`, `.npmrc`, `go/pkg`) is not shown. Source: their manuals.
 */
const TOOLCHAINS = [
  ".asdf",
  ".bun/bin",
  ".bun/install/global/node_modules",
  ".cargo/bin",
  ".cargo/env",
  ".deno/bin",
  ".fnm",
  ".goenv",
  ".jenv",
  ".linuxbrew",
  ".local/bin",
  ".local/lib",
  ".local/share/fnm",
  ".local/share/mise/installs",
  ".local/share/mise/plugins",
  ".local/share/mise/shims",
  ".local/share/pipx/venvs",
  ".local/share/pnpm",
  ".local/share/uv/python",
  ".local/share/uv/tools",
  ".nodenv",
  ".nvm",
  ".pyenv",
  ".rbenv",
  ".rustup",
  ".sdkman/bin",
  ".sdkman/candidates",
  ".sdkman/libexec",
  ".volta",
  "go/bin",
] as const;

/** By which variable a version manager is told where its folder is. Source: their manuals. */
const VARIABLES: Readonly<Record<string, string>> = {
  ".asdf": "ASDF_DATA_DIR",
  ".pyenv": "PYENV_ROOT",
  ".rbenv": "RBENV_ROOT",
  ".rustup": "RUSTUP_HOME",
  ".volta": "VOLTA_HOME",
};

/** What lies beside a `bin` and belongs to its programs. */
const BESIDE_BIN = [
  "bin",
  "conf",
  "include",
  "jmods",
  "legal",
  "lib",
  "lib32",
  "lib64",
  "libexec",
  "pyvenv.cfg",
  "release",
  "sbin",
  "share",
] as const;

/** The folder of dure itself, whose own programs run inside. */
const OWN = fileURLToPath(new URL("../../..", import.meta.url)).replace(/\/$/, "");
/** Folders whose links are followed beside those of PATH. */
const SYSTEM_BINS = ["/usr/bin", "/usr/local/bin", "/bin"];

/**
 * The software of this machine: the system's, that of known version managers, the node that runs
 * us, and what the folders of a PATH lead to. Links that leave a folder of PATH are followed for
 * their programs alone.
 */
export function softwareOf(programs: readonly string[], home: string | undefined): Software {
  const folders = [...programs, path.dirname(process.execPath)].filter(
    (folder) => path.isAbsolute(folder) && !holdsMore(folder, home),
  );
  const homes = [...(home === undefined ? [] : [home]), ...homesIn(folders)];
  const wanted = [
    ...SYSTEM_PROGRAMS,
    ...systemSettings(),
    ...new Set(homes.flatMap((one) => TOOLCHAINS.map((name) => path.join(one, name)))),
    ...folders.flatMap(placesOfPrograms),
    OWN,
    ...modulesOf(OWN),
  ];
  const reached = new Reached();
  for (const place of wanted) reached.add(place);
  for (const folder of [...SYSTEM_BINS, ...folders]) {
    for (const target of linksOutOf(folder)) {
      if (!reached.holds(target)) for (const place of placesOfProgram(target)) reached.add(place);
    }
  }
  const variables = home === undefined ? {} : variablesIn(home);
  return { places: reached.outermost(), links: reached.links(), variables };
}

function variablesIn(home: string): Readonly<Record<string, string>> {
  const known = Object.entries(VARIABLES).map(([name, key]) => [key, path.join(home, name)]);
  return Object.fromEntries(known.filter(([, at]) => existsSync(at!)));
}

/** Where Node finds what the program in a folder asks for. */
function modulesOf(folder: string): readonly string[] {
  const around = path.dirname(folder);
  if (around === folder) return [];
  return [path.join(around, "node_modules"), ...modulesOf(around)];
}

/** No folder of programs: a home folder, or one that holds much else. */
function holdsMore(folder: string, home: string | undefined): boolean {
  const isShared = ["/", "/tmp", "/home", "/root", "/var", "/etc", "/opt", "/srv", "/mnt"];
  return isShared.includes(folder) || (home !== undefined && isWithin(home, folder));
}

/** Home folders whose toolchains a PATH names. */
function homesIn(folders: readonly string[]): readonly string[] {
  return folders.flatMap((folder) =>
    TOOLCHAINS.flatMap((name) => {
      const at = `${folder}/`.indexOf(`/${name}/`);
      return at > 0 ? [folder.slice(0, at)] : [];
    }),
  );
}

/** What must be seen so that the programs of a folder of PATH run. */
function placesOfPrograms(folder: string): readonly string[] {
  const around = path.dirname(folder);
  const name = path.basename(folder);
  if (name === ".bin" && path.basename(around) === "node_modules") return [around];
  if (name !== "bin" && name !== "sbin") return [folder];
  // A Go distribution is its whole folder.
  if (existsSync(path.join(around, "pkg/tool"))) return [around];
  const others = BESIDE_BIN.filter(
    (other) => other !== "share" || path.basename(around) !== ".local",
  );
  return [folder, ...others.map((other) => path.join(around, other))];
}

/**
 * Where an installer puts one version of a program, with what it needs; logins lie beside its
 * `versions`. Source: the installers of Claude Code and Cursor.
 */
const VERSION_OF_PROGRAM = /\/\.local\/share\/[^/]+\/versions\/[^/]+$/;

/** What must be seen so that one program runs that a link leads to. */
function placesOfProgram(file: string): readonly string[] {
  const folder = path.dirname(file);
  if (VERSION_OF_PROGRAM.test(folder)) return [folder];
  const isBin = ["bin", "sbin"].includes(path.basename(folder));
  return isBin ? [file, ...placesOfPrograms(folder).filter((at) => at !== folder)] : [file];
}

/** Real files that links of a folder lead to. */
function linksOutOf(folder: string): readonly string[] {
  let entries;
  try {
    entries = readdirSync(folder, { withFileTypes: true });
  } catch {
    return []; // it is not there, or not for us
  }
  return entries
    .filter((entry) => entry.isSymbolicLink())
    .flatMap((entry) => realFile(path.join(folder, entry.name)));
}

function realFile(at: string): readonly string[] {
  try {
    const real = realpathSync(at);
    return lstatSync(real).isFile() ? [real] : [];
  } catch {
    return [];
  }
}

/** Places with the links on the way to them. */
class Reached {
  readonly #places = new Set<string>();
  readonly #links = new Map<string, string>();

  /** What is not there is left out, and what each process gets anew. */
  add(place: string): void {
    const real = this.#follow(place);
    if (real !== undefined && !isMadeAnew(real)) this.#places.add(real);
  }

  holds(at: string): boolean {
    for (let folder = at; ; folder = path.dirname(folder)) {
      if (this.#places.has(folder)) return true;
      if (folder === path.dirname(folder)) return false;
    }
  }

  outermost(): readonly string[] {
    return [...this.#places].filter((at) => !this.holds(path.dirname(at))).sort();
  }

  /** Without those that are seen anyway, since they lie in a place. */
  links(): readonly Link[] {
    return [...this.#links]
      .filter(([at]) => !this.holds(path.dirname(at)))
      .map(([at, to]) => ({ at, to }));
  }

  /** The real path; remembers each link on the way. */
  #follow(place: string): string | undefined {
    let at = "/";
    const rest = place.split("/").filter(Boolean);
    for (let steps = 0; rest.length > 0; steps++) {
      const name = rest.shift()!;
      if (name === "..") {
        at = path.dirname(at);
        continue;
      }
      const next = path.join(at, name);
      const target = kindOf(next);
      if (target === undefined || steps > MAX_STEPS) return undefined;
      if (target.to === undefined) {
        at = next;
        continue;
      }
      if (!isMadeAnew(next)) this.#links.set(next, target.to);
      if (path.isAbsolute(target.to)) at = "/";
      rest.unshift(...target.to.split("/").filter((part) => part !== "" && part !== "."));
    }
    return at;
  }
}

function isMadeAnew(at: string): boolean {
  return MADE_ANEW.some((tree) => isWithin(at, tree));
}

/** Of a path with its links; a ring of links has no end. Source: path_resolution(7), 40 links. */
const MAX_STEPS = 400;

function kindOf(at: string): { readonly to?: string } | undefined {
  try {
    return lstatSync(at).isSymbolicLink() ? { to: readlinkSync(at) } : {};
  } catch {
    return undefined;
  }
}

/** Where a system keeps its programs. Read-only inside; nothing here is a person's. */
const SYSTEM_PROGRAMS = [
  "/usr",
  "/bin",
  "/sbin",
  "/lib",
  "/lib32",
  "/lib64",
  "/libx32",
  "/nix/store",
  "/gnu/store",
] as const;

/**
 * Of /etc what programs ask for: names, time, certificates, the dynamic linker, settings of
 * languages. Every other name of it is absent. Source: what Debian, Fedora and Alpine have there.
 */
const SYSTEM_SETTINGS = [
  "ImageMagick-6",
  "ImageMagick-7",
  "R",
  "alpine-release",
  "alternatives",
  "bash.bashrc",
  "bashrc",
  "ca-certificates",
  "ca-certificates.conf",
  "crypto-policies/back-ends",
  "debian_version",
  "fedora-release",
  "fonts",
  "gai.conf",
  "gitconfig",
  "group",
  "host.conf",
  "hostname",
  "hosts",
  "inputrc",
  "ld.so.cache",
  "ld.so.conf",
  "ld.so.conf.d",
  "locale.alias",
  "locale.conf",
  "localtime",
  "login.defs",
  "lsb-release",
  "magic",
  "magic.mime",
  "maven",
  "mime.types",
  "mtab",
  "networks",
  "nsswitch.conf",
  "os-release",
  "passwd",
  "perl",
  "php",
  "pki/ca-trust/extracted",
  "pki/java",
  "pki/tls/cert.pem",
  "pki/tls/certs",
  "pki/tls/openssl.cnf",
  "profile",
  "profile.d",
  "protocols",
  "python",
  "redhat-release",
  "resolv.conf",
  "rpc",
  "services",
  "sgml",
  "shells",
  "ssl/cert.pem",
  "ssl/certs",
  "ssl/openssl.cnf",
  "system-release",
  "terminfo",
  "timezone",
  "xml",
] as const;
/** Settings whose names have a version in them. */
const VERSIONED = /^(?:java-[\w.-]+-openjdk|java|python\d[\d.]*|ld-musl-[\w-]+\.path)$/;
/** Settings of package managers: shown unless a login stands in them. */
const PACKAGE_SETTINGS = ["npmrc", "pip.conf", "yarnrc", "gemrc"];
const LOGIN = /_auth|password|token|:\/\/[^/\s]*@/i;

/** What is shown of /etc here. Absolute paths, links among them. */
function systemSettings(): readonly string[] {
  const versioned = namesIn("/etc").filter((name) => VERSIONED.test(name));
  const packages = PACKAGE_SETTINGS.filter((name) => holdsNoLogin(path.join("/etc", name)));
  return [...SYSTEM_SETTINGS, ...versioned, ...packages].map((name) => path.join("/etc", name));
}

function holdsNoLogin(file: string): boolean {
  try {
    return lstatSync(file).isFile() && !LOGIN.test(readFileSync(file, "utf8"));
  } catch {
    return false;
  }
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return []; // it is not there, or not for us
  }
}
