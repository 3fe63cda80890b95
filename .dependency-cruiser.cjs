// Which folder may import which. The picture is in ARCHITECTURE.md, "Layers"; scripts/layers.ts runs
// this and counts the modules.

const path = require("node:path");

const SOURCES = "^packages/dure/src/";
/** What a package can import: `dure`, `dure/team` and so on. */
const DOORS = `${SOURCES}((client|korean|react|slots|team|channels|compat)/)?index\\.ts$`;
/**
 * Tests stand beside what they test and may reach for anything; so may `test-….ts`, which several
 * of them share.
 */
const TESTS = "\\.test\\.tsx?$|/test-[^/]+\\.tsx?$";

/**
 * A folder, and the folders of dure that it may import. Types count as imports: a layer is also its
 * vocabulary.
 */
const MAY_IMPORT = (() => {
  const kernel = [];
  const wire = ["kernel"];
  const durable = ["kernel", "wire"];
  const parse = ["kernel"];
  const models = ["kernel"];
  const escalations = ["kernel", "wire", "durable", "models"];
  const engine = [...escalations, "escalations", "parse"];
  const slots = [...engine, "engine"];
  const mcp = [...engine, "engine"];
  const jobs = [...engine, "engine"];
  const rooms = [...jobs, "jobs"];
  const plans = [...jobs, "jobs"];
  const server = [...rooms, "rooms", "plans"];
  const compat = [...engine, "engine"];
  const channels = [...rooms, "rooms"];
  const mcpServer = [...server, "server", "client"];
  const openai = [...server, "server"];
  const webhooks = [...server, "server", "client"];
  const a2a = webhooks;
  const acpAgent = ["kernel", "wire", "client", "korean"];
  const aiSdk = openai;
  const agUi = webhooks;
  const schedules = [...webhooks, "webhooks"];
  const protocols = [
    "client",
    "mcp-server",
    "openai",
    "ai-sdk",
    "webhooks",
    "knowledge",
    "schedules",
    "a2a",
    "ag-ui",
    "alerts",
  ];
  const team = [...server, "server", "channels", "mcp", ...protocols];
  const cli = [...team, "team", "acp-agent", "korean"];
  const client = ["kernel", "wire"];
  return {
    kernel,
    wire,
    durable,
    models,
    escalations,
    parse,
    engine,
    slots,
    mcp,
    jobs,
    rooms,
    plans,
    channels,
    compat,
    server,
    team,
    "mcp-server": mcpServer,
    openai,
    "ai-sdk": aiSdk,
    "ag-ui": agUi,
    webhooks,
    knowledge: openai,
    alerts: openai,
    schedules,
    a2a,
    "acp-agent": acpAgent,
    cli,
    client,
    korean: ["kernel"],
    react: ["kernel", "wire", "client"],
  };
})();

const layers = Object.entries(MAY_IMPORT).map(([folder, allowed]) => ({
  name: `layer-${folder}`,
  comment: `${folder}/ imports only itself${allowed.length > 0 ? ` and ${allowed.join(", ")}` : ""}.`,
  severity: "error",
  from: { path: `${SOURCES}${folder}/`, pathNot: TESTS },
  to: { path: SOURCES, pathNot: `${SOURCES}(${[folder, ...allowed].join("|")})/` },
}));

/** Folders of a plan's run, from the rows up; each knows those before it, and what plans/ itself holds. */
const RUN_FLOORS = ["rows", "ask", "assign", "port", "merge", "lead", "runs"];

const runFloors = RUN_FLOORS.slice(0, -1).map((folder, floor) => ({
  name: `run-floor-${folder}`,
  comment: `plans/${folder}/ knows no folder of the run above it.`,
  severity: "error",
  from: { path: `${SOURCES}plans/${folder}/`, pathNot: TESTS },
  to: { path: `${SOURCES}plans/(${RUN_FLOORS.slice(floor + 1).join("|")})/` },
}));

/** Clients of platforms that a team installs beside dure: its optional peers, with their scopes. */
const PLATFORM_CLIENTS = Object.keys(require("./packages/dure/package.json").peerDependenciesMeta)
  .filter((name) => name !== "react")
  .map((name) => name.replace(/\/.*/, "").replaceAll(".", "\\."))
  .join("|");

/** A package that is known in one folder only, so that it can be exchanged there. */
const onlyIn = (name, folder, packages) => ({
  name,
  severity: "error",
  from: { path: SOURCES, pathNot: [`${SOURCES}${folder}/`, TESTS] },
  to: { path: `(^|/)node_modules/(${packages})/|^(${packages})(/|$)` },
});

/** No product code behind these needs more than a browser has. */
const BROWSER_SAFE = `${SOURCES}(kernel|client|korean|react|parse)/`;

module.exports = {
  forbidden: [
    {
      name: "no-runtime-cycle",
      comment:
        "Modules that need each other at run time can only be understood together. A type-only import does not count.",
      severity: "error",
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ["type-only"] } },
    },
    ...layers,
    ...runFloors,
    onlyIn("web-push-only-in-alerts", "alerts", "@block65/webcrypto-web-push"),
    onlyIn("mcp-client-only-in-mcp", "mcp", "@modelcontextprotocol/client"),
    onlyIn("croner-only-in-schedules", "schedules", "croner"),
    onlyIn("mcp-server-only-in-mcp-server", "(mcp-server|cli)", "@modelcontextprotocol/server"),
    onlyIn("react-only-in-react", "react", "react"),
    onlyIn("platform-clients-only-in-platforms", "channels/[^/]+", PLATFORM_CLIENTS),
    {
      name: "platforms-apart",
      comment: "A platform is a folder of its own: no other one knows it.",
      severity: "error",
      from: { path: `${SOURCES}channels/([^/]+)/`, pathNot: TESTS },
      to: { path: `${SOURCES}channels/[^/]+/`, pathNot: `${SOURCES}channels/$1/` },
    },
    {
      name: "no-zod-in-the-browser",
      comment: "The client and the dashboard take the types of wire/ alone: no zod in a bundle.",
      severity: "error",
      from: { path: [BROWSER_SAFE, "^packages/dashboard/src/"], pathNot: TESTS },
      to: {
        path: [`${SOURCES}wire/`, "(^|/)node_modules/zod/"],
        dependencyTypesNot: ["type-only"],
      },
    },
    {
      name: "only-the-server-checks-the-wire",
      comment:
        "Domains are typed by wire/; what comes in is checked at the server and its protocols.",
      severity: "error",
      from: {
        path: SOURCES,
        pathNot: [
          `${SOURCES}(server|wire|mcp-server|openai|ai-sdk|webhooks|knowledge|schedules|a2a|ag-ui|alerts)/`,
          TESTS,
        ],
      },
      to: { path: `${SOURCES}wire/`, dependencyTypesNot: ["type-only"] },
    },
    {
      name: "browser-safe",
      comment: "kernel/, client/, react/ and parse/ run in a browser: no Node module.",
      severity: "error",
      from: { path: BROWSER_SAFE, pathNot: TESTS },
      to: { dependencyTypes: ["core"] },
    },
    {
      name: "kernel-alone",
      comment: "kernel/ has no dependency.",
      severity: "error",
      from: { path: `${SOURCES}kernel/`, pathNot: TESTS },
      to: { path: "node_modules" },
    },
    {
      name: "parsers-alone",
      comment: "parse/ is pure: it knows the kernel at most, and no dependency.",
      severity: "error",
      from: { path: `${SOURCES}parse/`, pathNot: TESTS },
      to: { pathNot: `${SOURCES}(parse|kernel)/` },
    },
    {
      name: "dashboard-through-client",
      comment:
        "The dashboard knows dure by its client, its hooks, its Korean and its types alone; its tests also know the real server.",
      severity: "error",
      from: { path: "^packages/dashboard/", pathNot: "^packages/dashboard/test/" },
      to: { path: SOURCES, pathNot: `${SOURCES}(client|korean|react)/index\\.ts$` },
    },
    {
      name: "dashboard-on-top",
      severity: "error",
      from: { path: SOURCES, pathNot: TESTS },
      to: { path: "^packages/dashboard/" },
    },
    {
      name: "testing-through-doors",
      comment: "The doubles know dure as its users do; their tests also know a real database.",
      severity: "error",
      from: { path: "^packages/testing/src/", pathNot: TESTS },
      to: { path: SOURCES, pathNot: DOORS },
    },
    {
      name: "no-doubles-in-the-product",
      comment: "The product does not ship fakes; its tests import @dure/testing.",
      severity: "error",
      from: { path: SOURCES, pathNot: TESTS },
      to: { path: "^packages/testing/" },
    },
    {
      name: "no-test-parts-in-the-product",
      comment:
        "Doubles and test tools are for tests; people do not get the tools with the package.",
      severity: "error",
      from: { path: SOURCES, pathNot: TESTS },
      to: {
        dependencyTypes: ["npm-dev"],
        dependencyTypesNot: ["type-only", "npm", "npm-peer"],
      },
    },
    {
      name: "no-import-of-a-test",
      severity: "error",
      from: { pathNot: `${TESTS}|^packages/[^/]+/test/` },
      to: { path: TESTS },
    },
    {
      name: "no-missing-module",
      comment: "virtual: and words: modules are made by the build of the dashboard.",
      severity: "error",
      from: {},
      to: { couldNotResolve: true, pathNot: "^(virtual|words):" },
    },
  ],
  options: {
    baseDir: process.cwd(),
    tsConfig: { fileName: path.join(__dirname, "tsconfig.json") },
    tsPreCompilationDeps: true,
    combinedDependencies: true,
    doNotFollow: { path: "node_modules" },
    enhancedResolveOptions: {
      conditionNames: ["dure-source", "types", "import", "node", "default"],
      exportsFields: ["exports"],
      extensions: [".ts", ".tsx", ".d.ts", ".mjs", ".js", ".json", ".css"],
    },
  },
};
