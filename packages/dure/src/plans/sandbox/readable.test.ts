// @module-tag slow
import { spawn } from "node:child_process";
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { homedir, tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, expect, onTestFinished, test } from "vitest";
import type { HostOrder } from "./test-host.ts";

// What a worker can read of a machine, as a list: every file is tried, and beyond what a rule shows
// the list is empty.

const HOST = fileURLToPath(new URL("test-host.ts", import.meta.url));
const isRoot = process.getuid?.() === 0;
/** An ordinary user; only root may become one. */
const ORDINARY = 65_534;
const USERS = isRoot ? (["root", "an ordinary user"] as const) : (["an ordinary user"] as const);
const LIMITS = { timeMs: 60_000, outputBytes: 2_000_000, fileBytes: 10_000_000, processes: 200 };
const PATH = process.env["PATH"]!;

const root = mkdtempSync(path.join(realpathSync(tmpdir()), "dure-readable-"));
chmodSync(root, 0o755);
afterAll(() => rmSync(root, { recursive: true, force: true }));

/** Everything that opens, but for what begins with one of these. */
const WALK = `
const fs = require("node:fs");
const allowed = process.argv.slice(1);
const found = [];
const isAllowed = (at) => allowed.some((place) => at === place || at.startsWith(place + "/"));
const visit = (folder) => {
  let names;
  try { names = fs.readdirSync(folder); } catch { return; }
  for (const name of names) {
    const at = folder === "/" ? "/" + name : folder + "/" + name;
    if (isAllowed(at)) continue;
    const entry = fs.lstatSync(at, { throwIfNoEntry: false });
    if (entry === undefined) continue;
    if (entry.isDirectory()) { visit(at); continue; }
    if (fs.statSync(at, { throwIfNoEntry: false })?.isDirectory()) continue; // a link
    try { fs.closeSync(fs.openSync(at, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK)); found.push(at); } catch {}
  }
};
visit("/");
console.log(JSON.stringify(found));
`;

/** Of a person, in the home folder. */
const SECRETS = [
  "projects/x/.env",
  "projects/x/secrets.json",
  "projects/x/server.key",
  "projects/x/.git/config",
  "projects/other/src/code.ts",
  ".npmrc",
  ".ssh/config",
  ".cargo/credentials.toml",
  ".local/share/keyrings/login",
  ".local/share/agent/login.json",
  "go/pkg/mod/private.go",
  "notes.txt",
];
/** Toolchains there. */
const PROGRAMS = {
  ".cargo/bin/of-cargo": 'echo "cargo runs with $(cat "$RUSTUP_HOME/settings.toml")"',
  ".rustup/settings.toml": "",
  ".pyenv/versions/3/bin/of-pyenv": "echo pyenv runs",
  ".pyenv/shims/of-pyenv": 'exec "${0%/shims/*}/versions/3/bin/of-pyenv"',
  ".nvm/versions/node/v24/bin/of-nvm": "echo nvm runs",
  ".volta/tools/of-volta": "echo volta runs",
  ".volta/bin/of-volta": 'exec "$VOLTA_HOME/tools/of-volta"',
  ".asdf/installs/of-asdf": "echo asdf runs",
  ".asdf/shims/of-asdf": 'exec "$ASDF_DATA_DIR/installs/of-asdf"',
  // An agent with a Node.js of its own, as its installer leaves it.
  ".local/share/agent/versions/1/node": "echo its agent runs",
  ".local/share/agent/versions/1/agent": 'exec "$(dirname "$(readlink -f "$0")")/node"',
};
const AGENT = { at: ".local/bin/agent", to: "../share/agent/versions/1/agent" };

interface Machine {
  readonly home: string;
  readonly tree: string;
  readonly planted: readonly string[];
}

/** A machine below one folder: a home, another checkout, a token in /tmp; all open to every user. */
function plant(name: string, user: number | undefined): Machine {
  const home = path.join(root, name, "home");
  const tree = path.join(root, name, "data/tree");
  const token = path.join(realpathSync(tmpdir()), `dure-token-${process.pid}-${name}`);
  const planted = [...SECRETS.map((file) => path.join(home, file)), token];
  for (const file of planted) write(file, "secret\n", 0o644);
  for (const [file, script] of Object.entries(PROGRAMS)) {
    write(path.join(home, file), `#!/bin/sh\n${script}\n`, 0o755);
  }
  mkdirSync(path.join(home, ".local/bin"));
  symlinkSync(AGENT.to, path.join(home, AGENT.at));
  mkdirSync(path.join(tree, "own"), { recursive: true });
  const given = ["", "home", "data", "data/tree", "data/tree/own"];
  if (user !== undefined) {
    for (const at of given) chownSync(path.join(root, name, at), user, user);
  }
  return { home, tree, planted };
}

function write(file: string, text: string, mode: number): void {
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, text, { mode });
  chmodSync(file, mode);
}

/** What a process prints that a dure of this user starts. */
async function runAs(user: number | undefined, order: HostOrder): Promise<string> {
  const ids = [`--reuid=${user}`, `--regid=${user}`, "--clear-groups", "--"];
  const before = user === undefined ? [] : ["setpriv", ...ids];
  const node = ["node", "--conditions=dure-source", HOST, JSON.stringify(order)];
  const host = spawn("env", [...before, ...node], { stdio: ["ignore", "pipe", "inherit"] });
  let said = "";
  for await (const chunk of host.stdout) said += String(chunk);
  const last = JSON.parse(said.trim().split("\n").at(-1)!) as {
    error?: string;
    end?: { output: string };
  };
  if (last.end === undefined) throw new Error(last.error);
  return last.end.output;
}

/** Prefixes that a worker may read, written by hand: none comes from the code under test. */
function allowList({ home, tree }: Machine): readonly string[] {
  const folders = PATH.split(":").filter((folder) => folder.startsWith("/"));
  const toolchains = [".pyenv", ".rustup", ".cargo/bin", ".cargo/env", ".nvm", ".volta", ".asdf"];
  const agents = ".local/share/agent/versions/1";
  const own = [".local/bin", ".local/lib", ".local/share/uv/python", agents];
  return [
    ...["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/proc", "/dev"],
    ...[...toolchains, ...own].flatMap((name) => [
      path.join(home, name),
      path.join(homedir(), name),
    ]),
    ...folders,
    ...folders
      .filter((folder) => folder.endsWith("/node_modules/.bin"))
      .map((folder) => path.dirname(folder)),
    ...folders.flatMap(programsOf),
    path.dirname(path.dirname(process.execPath)),
    fileURLToPath(new URL("../../..", import.meta.url)).replace(/\/$/, ""),
    fileURLToPath(new URL("../../../../../node_modules", import.meta.url)), // its packages
    tree,
  ];
}

/** What links of a folder of PATH lead to. */
function programsOf(folder: string): readonly string[] {
  try {
    return readdirSync(folder).map((name) => realpathSync(path.join(folder, name)));
  } catch {
    return [];
  }
}

/** Of /etc: plain settings at its top, and these folders of it. */
const ETC =
  /^\/etc\/(?:[\w.-]+|(?:ImageMagick-\d|R|alternatives|ca-certificates|fonts|java-[\w.-]+|ld\.so\.conf\.d|maven|perl|php|profile\.d|python[\d.]*|sgml|ssl\/certs|terminfo|xml)\/.*|ssl\/openssl\.cnf)$/;
const NEVER = /shadow|sudoers|ssh|machine-id|private/;

test.for(USERS)(
  "the list of what a worker can read beyond the allow-list is empty: %s",
  async (who) => {
    const user = isRoot && who !== "root" ? ORDINARY : undefined;
    const machine = plant(who.replaceAll(" ", "-"), user);
    const { home, tree, planted } = machine;
    onTestFinished(() => rmSync(planted.at(-1)!));
    const bins = [path.join(home, ".local/bin")]; // the others are found without a PATH
    const programs = [...PATH.split(":"), ...bins];
    const order = (command: readonly string[]): HostOrder => ({
      open: {
        wanted: "enforced",
        kinds: ["namespaces", "bubblewrap"],
        prefer: "namespaces",
        folder: path.join(root, who, "data/sandbox").replaceAll(" ", "-"),
        home,
        programs,
      },
      confinement: {
        cwd: tree,
        writable: [path.join(tree, "own")],
        readOnly: [],
        hidden: [],
        disposable: [],
        // What lies in a folder of secrets is not opened by its name either.
        shown: [path.join(home, ".ssh/config")],
      },
      command: { command, env: { PATH, HOME: tree }, limits: LIMITS },
    });
    const tools = [
      ...[".cargo/bin/of-cargo", ".pyenv/shims/of-pyenv", ".nvm/versions/node/v24/bin/of-nvm"],
      ...[".volta/bin/of-volta", ".asdf/shims/of-asdf", AGENT.at],
    ]
      .map((name) => path.join(home, name))
      .join("; ");
    const reading = `cat "$@" 2>/dev/null; echo over; ${tools}`;

    const walked = await runAs(user, order(["node", "-e", WALK, ...allowList(machine)]));
    const asked = await runAs(user, order(["sh", "-c", reading, "sh", ...planted]));

    const found = JSON.parse(walked) as string[];
    expect(found.filter((file) => !ETC.test(file) || NEVER.test(file))).toEqual([]);
    const ran = ["pyenv runs", "nvm runs", "volta runs", "asdf runs", "its agent runs"];
    expect(asked.trim().split("\n")).toEqual(["over", "cargo runs with #!/bin/sh", ...ran]);
    // They are there, and open to every user.
    for (const file of planted) expect(readFileSync(file, "utf8")).toBe("secret\n");
  },
);
