import { expect, test } from "vitest";
import { projectOf } from "./project.ts";
import { hostsOfCommand, machineSettings } from "./tools.ts";

const NPM = "registry.npmjs.org:443";
const PYPI = ["pypi.org:443", "files.pythonhosted.org:443"];
const VENV = "python3 -m venv .venv && .venv/bin/python -m pip install --quiet";

const project = (files: Readonly<Record<string, string>>) =>
  projectOf({ paths: Object.keys(files), texts: new Map(Object.entries(files)) });

test.each<[string, Readonly<Record<string, string>>, string | undefined, readonly string[]]>([
  ["npm", { "package-lock.json": "", "package.json": "{}" }, "npm ci", [NPM]],
  ["pnpm", { "pnpm-lock.yaml": "" }, "pnpm install --frozen-lockfile", [NPM]],
  [
    "yarn",
    { "yarn.lock": "" },
    "yarn install --frozen-lockfile",
    ["registry.yarnpkg.com:443", NPM],
  ],
  [
    "its newer releases",
    { "yarn.lock": "", ".yarnrc.yml": "" },
    "yarn install --immutable",
    ["registry.yarnpkg.com:443", NPM],
  ],
  ["bun", { "bun.lock": "" }, "bun install --frozen-lockfile", [NPM]],
  ["uv", { "uv.lock": "", "pyproject.toml": "[project]" }, "uv sync --frozen", PYPI],
  [
    "pip",
    { "requirements.txt": "", "requirements-dev.txt": "" },
    `${VENV} -r requirements.txt -r requirements-dev.txt`,
    PYPI,
  ],
  ["a Python package", { "pyproject.toml": "[project]\nname = 'x'" }, `${VENV} -e .`, PYPI],
  ["settings of Python tools alone", { "pyproject.toml": "[tool.ruff]" }, undefined, []],
  [
    "Go",
    { "go.mod": "" },
    "GOFLAGS=-modcacherw go mod download",
    ["proxy.golang.org:443", "sum.golang.org:443"],
  ],
  [
    "Cargo",
    { "Cargo.lock": "" },
    "cargo fetch --locked",
    ["index.crates.io:443", "static.crates.io:443"],
  ],
  ["nothing that fetches", { Makefile: "test:\n\t./run\n" }, undefined, []],
])("the files of a repository say how it is set up: %s", (_what, files, setup, hosts) => {
  const found = project(files);

  expect([found.setup, found.hosts]).toEqual([setup, hosts]);
});

test("two languages are set up one after the other, and reach the places of both", () => {
  const found = project({ "package-lock.json": "", "requirements.txt": "" });

  expect(found.setup).toBe(`npm ci && ${VENV} -r requirements.txt`);
  expect(found.hosts).toEqual([NPM, ...PYPI]);
  expect(found.from).toEqual(["package-lock.json", "requirements.txt"]);
});

test("what the repository says of itself goes before what its files let one guess", () => {
  const text =
    "setup: make deps\nsetup_hosts: [mirror.example.org]\nacceptance: make check\nown: [src/**]\nagent: codex\n";
  const found = project({ "package-lock.json": "", ".dure/project.yaml": text });

  expect(found).toMatchObject({
    setup: "make deps",
    hosts: ["mirror.example.org"],
    acceptance: "make check",
    own: ["src/**"],
    agent: "codex",
    from: [".dure/project.yaml"],
  });
});

test("a setup without hosts of its own reaches the places of the tools that it names", () => {
  const found = project({ ".dure/project.yaml": "setup: ./prepare && npm install\n" });

  expect(found.hosts).toEqual([NPM]);
  expect(["./npm-like", "echo go-ing", "a/cargo.sh"].flatMap(hostsOfCommand)).toEqual([]);
});

test.each([
  ["setup: npm ci\nset_up_hosts: [a.example.org]\n", ".dure/project.yaml:2:1"],
  ["agent: claud\n", ".dure/project.yaml:1:1"],
  ["own: src\n", ".dure/project.yaml:1:1"],
  ["setup: [\n", ".dure/project.yaml:2:1"],
])("a mistake in its file is named with its line: %j", (text, place) => {
  const read = (): unknown => project({ ".dure/project.yaml": text });

  expect(read).toThrow(expect.objectContaining({ code: "PROJECT_INVALID" }));
  expect(read).toThrow(place);
});

test("the command of its tests is known where the files name one", () => {
  const npm = (script: string) => ({
    "package.json": JSON.stringify({ scripts: { test: script } }),
  });

  expect(project(npm("vitest run")).acceptance).toBe("npm test");
  expect(project(npm('echo "Error: no test specified" && exit 1')).acceptance).toBeUndefined();
  expect(project({ Makefile: "all: x\n\ntest: all\n\t./t\n" }).acceptance).toBe("make test");
  expect(project({ "package.json": "{ broken" }).acceptance).toBeUndefined();
});

test("a command for a container is shown and never a setup", () => {
  const file = ".devcontainer/devcontainer.json";
  const found = project({ [file]: '{ // a comment\n "postCreateCommand": "apt-get install x" }' });

  expect(found.setup).toBeUndefined();
  expect(found.unused).toEqual({ file, command: "apt-get install x" });
});

test("registries of a committed .npmrc are reached too", () => {
  const npmrc = "@shop:registry=https://npm.shop.example/\n//npm.shop.example/:_authToken=x\n";
  const found = project({ "package-lock.json": "", ".npmrc": npmrc });

  expect(found.hosts).toEqual([NPM, "npm.shop.example"]);
});

test("the registry of this machine is handed on without its password", () => {
  const npmrc =
    "registry=https://me:secret@mirror.example:8443/npm/\n//mirror.example/:_authToken=x";
  const settings = machineSettings({ PIP_INDEX_URL: "http://pip.example/simple" }, npmrc);
  const files = { paths: ["package-lock.json"], texts: new Map<string, string>() };
  const found = projectOf(files, settings);

  expect(found.setup).toBe("export npm_config_registry='https://mirror.example:8443/npm/'; npm ci");
  expect(found.hosts).toEqual([NPM, "mirror.example:8443"]);
});

test("certificates that this machine trusts are handed to what fetches, and to nothing else", () => {
  const env = { NODE_EXTRA_CA_CERTS: "/etc/ssl/ca.crt", PIP_CERT: "/etc/ssl/ca.crt; reboot" };
  const settings = machineSettings(env);
  const of = (path: string) => projectOf({ paths: [path], texts: new Map() }, settings).setup;

  expect(of("package-lock.json")).toBe("export NODE_EXTRA_CA_CERTS='/etc/ssl/ca.crt'; npm ci");
  expect(of("uv.lock")).toBe("uv sync --frozen");
});

test("a registry that is the public one, or no address that a shell takes, is not handed on", () => {
  const env = { PIP_INDEX_URL: "https://x.example/'; rm -rf /", GOPROXY: "off" };

  expect(machineSettings(env, "registry=https://registry.npmjs.org/")).toEqual([]);
});
