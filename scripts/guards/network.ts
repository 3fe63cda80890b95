import type { Guard } from "../mutate.ts";
import { testsIn } from "./tests-in.ts";

const SANDBOX = "packages/dure/src/plans/sandbox";
const FETCH = "packages/dure/src/kernel/fetch-at-origin.ts";
const NETWORK = `${SANDBOX}/network.ts`;
const network = testsIn(`${SANDBOX}/network.test.ts`);
const needs = testsIn("packages/dure/src/plans/network-needs.test.ts");
const readable = testsIn(`${SANDBOX}/readable.test.ts`);
const sandbox = testsIn(`${SANDBOX}/sandbox.test.ts`);
const groups = testsIn(`${SANDBOX}/control-groups.test.ts`);
const escape = testsIn("packages/dure/test/plans/escape.test.ts");
const isolation = testsIn("packages/dure/test/plans/isolation.test.ts");
const leaseProof = testsIn("packages/dure/src/durable/lease-proof.test.ts");
const neverReached = testsIn("packages/dure/test/plans/never-reached.test.ts");
const scopedFiles = testsIn("packages/dure/src/plans/workers/scoped-files.test.ts");
const atOrigin = testsIn("packages/dure/src/kernel/fetch-at-origin.test.ts");
const CALLS = "packages/dure/src/plans/calls";
const modelDoor = testsIn(`${CALLS}/model-door.test.ts`);
const throughDoor = testsIn(`${CALLS}/through-door.test.ts`);
const planPay = testsIn("packages/dure/src/team/plan-pay.test.ts");

/** How far a worker gets, and as whom. */
export const NETWORK_GUARDS: readonly Guard[] = [
  {
    id: "redirect.origin",
    at: { file: FETCH },
    find: 'if (next.origin !== first.origin) return "another origin";',
    replace: "",
    tests: atOrigin("never reaches another origin after 307"),
    why: "a provider that redirects gets the key sent to any host",
  },
  {
    id: "redirect.count",
    at: { file: FETCH },
    find: "if (followed >= MAX_REDIRECTS) return `more than ${MAX_REDIRECTS} times`;",
    replace: "",
    tests: atOrigin("is sent four times at most by a loop"),
    why: "a loop of redirects sends the same request without end",
  },
  {
    id: "door.below",
    at: { file: `${SANDBOX}/model-way.ts` },
    find: "return there.origin === below.origin && isBelow ? there : undefined;",
    replace: "return there;",
    tests: modelDoor("hostile requests are refused in one line each, and lead nowhere"),
    why: "a worker reaches with dure's key what is beside the address of its provider",
  },
  {
    id: "door.redirect",
    at: { file: `${SANDBOX}/model-way.ts` },
    find: "if (status >= 300 && status < 400 && status !== 304) {",
    replace: "if (status === 0) {",
    tests: modelDoor("hostile requests are refused in one line each, and lead nowhere"),
    why: "a provider leads a worker's client elsewhere",
  },
  {
    id: "door.keys",
    at: { file: `${CALLS}/model-ways.ts` },
    find: "return `dure-keeps-${name}`;",
    replace: "return `dure-keeps-${name}`.slice(99);",
    tests: throughDoor("an agent in a sandbox is counted by what its provider tells"),
    why: "what stands for a key is not exchanged for it, and each call is refused",
  },
  {
    id: "door.together",
    at: { file: "packages/dure/src/plans/assign/token-meter.ts" },
    find: "if (this.#underWay.size === 0) return true;",
    replace: "return true;",
    tests: modelDoor("calls side by side pass a budget by one call at most"),
    why: "ten calls side by side pass a budget by ten calls",
  },
  {
    id: "network.host.none",
    at: { file: NETWORK },
    find:
      'if (policy.kind === "none") { return { allowed: false, because: "this process has no ' +
      'network (policy none)" }; }',
    replace: "",
    tests: network("a policy lets a process ask for none"),
    why: "a process without a network reaches the hosts that its policy names",
  },
  {
    id: "network.host.others",
    at: { file: NETWORK },
    find: 'if (policy.kind === "open" || (rules.length > 0 && WEB_PORTS.includes(target.port)))',
    replace: 'if (policy.kind === "open" || WEB_PORTS.includes(target.port))',
    tests: network("a policy lets a process ask for another host"),
    why: "a worker sends what it reads to any host",
  },
  {
    id: "network.host.port",
    at: { file: NETWORK },
    find: "(rules.length > 0 && WEB_PORTS.includes(target.port))",
    replace: "rules.length > 0",
    tests: network("a policy lets a process ask for a named host at another port"),
    why: "a named host opens all of its ports",
  },
  {
    id: "network.host.wildcard",
    at: { file: NETWORK },
    find:
      'if (rule.host.startsWith("*.")) return host.endsWith(rule.host.slice(1));\n  return ' +
      "rule.host === host;",
    replace:
      'if (rule.host.startsWith("*.")) return host.endsWith(rule.host.slice(1));\n  return ' +
      "host.endsWith(rule.host);",
    tests: network("a policy lets a process ask for a longer name"),
    why: "a name that ends like a named one is reached",
  },
  {
    id: "network.address.dures",
    at: { file: NETWORK },
    find: "if (isDures) return `${address}:${port} is dure's own`;",
    replace: "",
    tests: network("a process never reaches dure's port on loopback"),
    why: "a worker speaks to dure's server and database",
  },
  {
    id: "network.address.metadata",
    at: { file: NETWORK },
    find: "if (isIn(METADATA, translated(plain))) {",
    replace: "if (false) {",
    tests: network("a process never reaches the machine's metadata"),
    why: "a worker takes the machine's own credentials from its cloud",
  },
  {
    id: "network.address.translated",
    at: { file: NETWORK },
    find: "if (isIn(METADATA, translated(plain))) {",
    replace: "if (isIn(METADATA, plain)) {",
    tests: network("a process never reaches the machine's metadata behind a translator"),
    why: "a worker takes the machine's own credentials through a translator of addresses",
  },
  {
    id: "network.address.here",
    at: { file: NETWORK },
    find: "if (isHere) return `${address} is this machine`;",
    replace: "",
    tests: network("an address that is not public is refused"),
    why: "a worker reaches the services of the machine",
  },
  {
    id: "network.address.private",
    at: { file: NETWORK },
    find: "return isIn(NOT_PUBLIC, plain) ? `${address} is not a public address` : undefined;",
    replace: "return undefined;",
    tests: network("an address that is not public is refused"),
    why: "a worker reaches the network behind the machine",
  },
  {
    id: "network.address.mapped",
    at: { file: NETWORK },
    find: 'return [high >> 8, high & 255, low >> 8, low & 255].join(".");',
    replace: "return whole + (high >> 16) + (low >> 16);",
    tests: network(
      "an address that is not public is refused",
      "a process never reaches dure's port in IPv6 clothes",
    ),
    why: "an IPv4 address in IPv6 clothes passes every list",
  },
  {
    id: "network.default",
    at: { file: "packages/dure/src/plans/network-needs.ts" },
    find: "?? team[user] ?? NO_NETWORK;",
    replace: '?? team[user] ?? { kind: "open", hosts: [] };',
    tests: needs("without a word commands, programs, models and offline workers have no network"),
    why: "what says nothing has the whole network",
  },
  {
    id: "network.namespace",
    at: { file: `${SANDBOX}/namespaces.ts` },
    find: '"--uts", "--net", "--fork"',
    replace: '"--uts", "--fork"',
    tests: sandbox(
      "a kind that could run here does run",
      "reaches nothing of the host's network, whatever its policy",
    ),
    why: "in namespaces a worker has the machine's network",
  },
  {
    id: "network.bubblewrap",
    at: { file: `${SANDBOX}/bubblewrap.ts` },
    find: '"--unshare-net", ',
    replace: "",
    tests: sandbox(
      "a kind that could run here does run",
      "reaches nothing of the host's network, whatever its policy",
    ),
    why: "under bubblewrap a worker has the machine's network",
  },
  {
    id: "network.other-user",
    at: { file: `${SANDBOX}/other-user.ts` },
    find: 'const ownNetwork = mayHaveNetworks() ? [findTool("unshare"), "--net", "--"] : [];',
    replace: 'const ownNetwork = mayHaveNetworks() ? [findTool("unshare"), "--"] : [];',
    tests: sandbox(
      "a kind that could run here does run",
      "reaches nothing of the host's network, whatever its policy",
    ),
    why: "as another user a worker has the machine's network",
  },
  {
    id: "network.refused",
    at: { file: `${SANDBOX}/sandbox.ts` },
    find: "refuseOpenNetwork(promises);",
    replace: "",
    tests: isolation("on a machine that gives processes no network of their own a run ends"),
    why: "a worker has the machine's network where none of its own can be made",
  },
  {
    id: "network.never.server",
    at: { file: "packages/dure/src/team/plan-sandboxes.ts" },
    find: '[env["DATABASE_URL"], url()]',
    replace: '[env["DATABASE_URL"]]',
    tests: neverReached("of a running team neither its server nor its database is reached"),
    why: "a worker whose policy names dure's server reaches it",
  },
  {
    id: "network.never.database",
    at: { file: "packages/dure/src/team/plan-sandboxes.ts" },
    find: '[env["DATABASE_URL"], url()]',
    replace: "[url()]",
    tests: neverReached("of a running team neither its server nor its database is reached"),
    why: "a worker whose policy names dure's database reaches it",
  },
  {
    id: "secrets.lent",
    at: { file: `${SANDBOX}/prepare-process.ts` },
    find: "lent.push({ ...place, source: copy });",
    replace: "",
    tests: sandbox("lends an allowed secret"),
    why: "a worker of root cannot read what its plan lends it",
  },
  {
    id: "files.owner",
    at: { file: "packages/dure/src/plans/workers/tree-access.ts" },
    find: "if (uid !== 0) await made.chown(uid, gid);",
    replace: "void gid;",
    tests: scopedFiles("folders and files that root makes for a worker belong to the owner"),
    why: "what root makes for a worker is root's, and the worker cannot change it",
  },
  {
    id: "secrets.stored",
    at: { file: "packages/dure/src/plans/runs/run-site.ts" },
    find: "assertLeavesSecrets(run.plan);",
    replace: "",
    tests: isolation("a stored plan that names a secret of dure's own ends"),
    why: "a plan that was stored before gives dure's secrets to its workers",
  },
  {
    id: "sandbox.uid.namespaces",
    at: { file: `${SANDBOX}/namespaces.ts` },
    find: '`--reuid=${user}`, `--regid=${user}`, "--clear-groups", ',
    replace: "",
    tests: sandbox(
      "a kind that could run here does run",
      "runs as a user that is not root to the kernel",
    ),
    why: "in namespaces a worker is root to the kernel",
  },
  {
    id: "sandbox.uid.bubblewrap",
    at: { file: `${SANDBOX}/bubblewrap.ts` },
    find: '`--reuid=${user}`, `--regid=${user}`, "--clear-groups", ',
    replace: "",
    tests: sandbox(
      "a kind that could run here does run",
      "runs as a user that is not root to the kernel",
    ),
    why: "under bubblewrap a worker is root to the kernel",
  },
  {
    id: "network.hook.token",
    at: { file: `${SANDBOX}/hook-way.ts` },
    find:
      'if (!isBearer(message.headers.authorization, hook.token)) { return refuse(401, "the token ' +
      'is not that of this step"); }',
    replace: "",
    tests: escape("a hook is reached with the step's own token and no other"),
    why: "a worker without the step's token speaks for the step",
  },
  {
    id: "network.hook.route",
    at: { file: `${SANDBOX}/hook-way.ts` },
    find: 'if (message.method !== "POST" || !HOOKS.test(at)) { return',
    replace: 'if (message.method === "-") { return',
    tests: escape("a hook is reached with the step's own token and no other"),
    why: "a worker calls any route of dure through its hooks",
  },

  // --- before something outside is asked or paid for
  {
    id: "lease-proof.look",
    at: { file: "packages/dure/src/durable/lease-proof.ts" },
    find: "while (!isFresh()) {",
    replace: "while (isFresh() && !isFresh()) {",
    tests: leaseProof(
      "after a pause in which another has taken the run over, nothing is confirmed",
    ),
    why: "a process that stood still pays for what another has paid for",
  },
  {
    id: "lease-proof.again",
    at: { file: "packages/dure/src/durable/lease-proof.ts" },
    find: "if (clock.monotonic() - askedAt < FRESH_MS) return;",
    replace: "if (askedAt >= 0) return;",
    tests: leaseProof("an answer that took long is asked for again"),
    why: "a process that stood still while it asked goes on by an old answer",
  },
  {
    id: "lease-proof.fresh",
    at: { file: "packages/dure/src/durable/processes.ts" },
    find: "this.#clock.monotonic() - this.#renewedAt < FRESH_MS &&",
    replace: "this.#renewedAt > 0 &&",
    tests: leaseProof(
      "what holds a lease is confirmed without a statement, and after a pause with one",
    ),
    why: "a process that stood still does not look",
  },
  {
    id: "lease-proof.confirm",
    at: { file: "packages/dure/src/durable/leases.ts" },
    find: 'if (!held) throw fenced(`${lease.id} as holder of ${name}`, "taken-over");',
    replace: "",
    tests: leaseProof(
      "after a pause in which another has taken the run over, nothing is confirmed",
    ),
    why: "a process that has lost its lease goes on",
  },
  {
    id: "lease-proof.run",
    at: { file: "packages/dure/src/team/plan-pay.ts" },
    find: "await confirm(); // directly before the call",
    replace: "// directly before the call",
    tests: planPay("a woken process pays for no work on a run that another has taken over"),
    why: "a worker of a run that another process leads is paid for",
  },
  {
    id: "lease-proof.draft",
    at: { file: "packages/dure/src/team/plan-pay.ts" },
    find: "model, ); await confirm(); return charged;",
    replace: "model, ); return charged;",
    tests: planPay("a woken process that others took for dead pays for no draft"),
    why: "a process that was taken for dead pays for a draft",
  },
  {
    id: "lease-proof.process",
    at: { file: "packages/dure/src/durable/processes.ts" },
    find: "look: () => database.transaction((tx) => this.guard(tx)),",
    replace: "look: async () => void database,",
    tests: planPay("a woken process that others took for dead pays for no draft"),
    why: "a process that stood still does not look whether it was taken for dead",
  },
  {
    id: "sandbox.root",
    at: { file: `${SANDBOX}/base-mounts.ts` },
    find: '"/", ...secrets, ...setting.hidden,',
    replace: "...secrets, ...setting.hidden,",
    tests: readable("the list of what a worker can read beyond the allow-list is empty"),
    why: "a worker reads every file of the machine that its user may",
  },
  {
    id: "sandbox.toolchains",
    at: { file: `${SANDBOX}/software.ts` },
    find: '".cargo/bin", ".cargo/env",',
    replace: '".cargo",',
    tests: readable("the list of what a worker can read beyond the allow-list is empty"),
    why: "beside a toolchain a worker reads the tokens of its registry",
  },
  {
    id: "sandbox.shown.secrets",
    at: { file: `${SANDBOX}/base-mounts.ts` },
    find: "(at) => !secrets.some((secret) => isWithin(at, secret)),",
    replace: "() => true,",
    tests: readable("the list of what a worker can read beyond the allow-list is empty"),
    why: "a path inside a folder of keys opens that key to a worker",
  },
  {
    id: "memory.watched",
    at: { file: `${SANDBOX}/memory-watch.ts` },
    find: "if (isOver()) onOver();",
    replace: "if (bytes < 0) onOver();",
    tests: sandbox("memory is watched where the machine has no control groups for it"),
    why: "a worker takes all of the machine's memory, and the server ends",
  },
  {
    id: "memory.one-process",
    at: { file: `${SANDBOX}/launch-script.ts` },
    find: "`ulimit -d ${Math.ceil(order.dataBytes / 1_024)} 2>/dev/null`",
    replace: '"true"',
    tests: sandbox("memory is watched where the machine has no control groups for it"),
    why: "a process takes the machine's memory between two looks at it",
  },
  {
    id: "disk.watched",
    at: { file: `${SANDBOX}/disk-watch.ts` },
    find: "if (grownBy(before.size, now, lost) > bytes) onOver();",
    replace: "if (bytes < 0) onOver();",
    tests: sandbox("a tree that writes more than it may is ended"),
    why: "a worker fills the machine's disk, and the database stops",
  },
  {
    id: "disk.closed",
    at: { file: `${SANDBOX}/disk-watch.ts` },
    find: "return now.isWhole ? grown : Math.max(grown, lost);",
    replace: "return grown;",
    tests: testsIn(`${SANDBOX}/disk-watch.test.ts`)("a folder that a worker closes to dure"),
    why: "a worker hides what it writes in a folder that dure may not enter",
  },
  {
    id: "cpu.group",
    at: { file: `${SANDBOX}/control-groups.ts` },
    find: 'case "cpu":',
    replace: 'case "cpu":\n      return [];',
    tests: groups("a group of version 2 gets its bounds"),
    why: "a worker takes all CPUs of the machine",
  },
  {
    id: "cpu.yields",
    at: { file: `${SANDBOX}/tree.ts` },
    find: 'return boundsCpu ? [] : [findTool("nice"), "-n", "10"];',
    replace: "return [];",
    tests: sandbox("memory is watched where the machine has no control groups for it"),
    why: "where no group bounds its CPU time a worker goes before the server",
  },
  {
    id: "groups.passed-on",
    at: { file: `${SANDBOX}/control-groups.ts` },
    find: "if (missing.length > 0) setBound(",
    replace: "if (missing.length < 0) setBound(",
    tests: groups("a group of version 2 gets its bounds"),
    why: "new groups of a delegated one have no bounds, and doctor says they have",
  },
  {
    id: "groups.leaf",
    at: { file: `${SANDBOX}/control-groups.ts` },
    find: "if (at === own && enabledIn(at).length === 0) moveToLeaf(at);",
    replace: "",
    tests: groups("in a delegated group of its own dure moves to a leaf"),
    why: "the kernel bounds no group below one with processes, as under Delegate=yes",
  },
  {
    id: "sandbox.files-by-modes",
    at: { file: `${SANDBOX}/sandbox.ts` },
    find: 'if (kind !== "other-user" || filesByModes) return;',
    replace: "return;",
    tests: sandbox("a machine without mounts confines none"),
    why: "on a machine without mounts a worker reads other checkouts, and no person has said yes",
  },
];
