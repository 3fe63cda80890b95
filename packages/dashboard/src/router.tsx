import { createRootRoute, createRoute, createRouter } from "@tanstack/react-router";
import { readInboxTab } from "./escalations/inbox-tab.ts";
import { readTraceFilters } from "./traces/trace-filters.ts";
import { readJobFilters } from "./jobs/job-filters.ts";
import { lazyPart } from "./lazy-part.ts";
import { readRunFilters, readRunLooks, readStart } from "./plans/run-filters.ts";
import { BrokenPage } from "./shell/broken-page.tsx";
import { Shell } from "./shell/shell.tsx";
import { UnknownPage } from "./shell/unknown-page.tsx";

const root = createRootRoute({ component: Shell });

const home = createRoute({
  getParentRoute: () => root,
  path: "/",
  component: lazyPart("start-page", async () => (await import("./start/start-page.tsx")).StartPage),
});

const roomsPage = lazyPart(
  "rooms-page",
  async () => (await import("./rooms/rooms-page.tsx")).RoomsPage,
);
const rooms = createRoute({ getParentRoute: () => root, path: "/rooms", component: roomsPage });
const oneRoom = createRoute({
  getParentRoute: () => root,
  path: "/rooms/$place",
  component: roomsPage,
});

// One route with a child, so that the list stays where it is when a job is picked.
const jobs = createRoute({
  getParentRoute: () => root,
  path: "/jobs",
  validateSearch: readJobFilters,
  component: lazyPart("jobs-page", async () => (await import("./jobs/jobs-page.tsx")).JobsPage),
});
const oneJob = createRoute({ getParentRoute: () => jobs, path: "$id" });

const plans = createRoute({
  getParentRoute: () => root,
  path: "/plans",
  validateSearch: readRunFilters,
  component: lazyPart("plans-page", async () => (await import("./plans/plans-page.tsx")).PlansPage),
});
const onePlan = createRoute({
  getParentRoute: () => root,
  path: "/plans/start/$plan",
  validateSearch: readStart,
  component: lazyPart(
    "before-page",
    async () => (await import("./plans/before-page.tsx")).BeforePage,
  ),
});
// One route with a child, so that the graph stays where it is when a port is picked.
const oneDraft = createRoute({
  getParentRoute: () => root,
  path: "/plans/drafts/$draft",
  component: lazyPart("draft-page", async () => (await import("./plans/draft-page.tsx")).DraftPage),
});
const oneRun = createRoute({
  getParentRoute: () => root,
  path: "/plans/runs/$run",
  validateSearch: readRunLooks,
  component: lazyPart("run-page", async () => (await import("./plans/run-page.tsx")).RunPage),
});
const onePort = createRoute({ getParentRoute: () => oneRun, path: "ports/$port" });

const agents = createRoute({
  getParentRoute: () => root,
  path: "/agents",
  component: lazyPart(
    "agents-page",
    async () => (await import("./agents/agents-page.tsx")).AgentsPage,
  ),
});
const oneAgent = createRoute({
  getParentRoute: () => root,
  path: "/agents/$agent",
  component: lazyPart(
    "agent-page",
    async () => (await import("./agents/agent-page.tsx")).AgentPage,
  ),
});

const chatPage = lazyPart("chat-page", async () => (await import("./chat/chat-page.tsx")).ChatPage);
const newChat = createRoute({ getParentRoute: () => root, path: "/chat", component: chatPage });
const oneChat = createRoute({
  getParentRoute: () => root,
  path: "/chat/$session",
  component: chatPage,
});

const replay = createRoute({
  getParentRoute: () => root,
  path: "/replay/$turn",
  validateSearch: readText("from"),
  component: lazyPart(
    "replay-page",
    async () => (await import("./replay/replay-page.tsx")).ReplayPage,
  ),
});

const traces = createRoute({
  getParentRoute: () => root,
  path: "/traces",
  validateSearch: readTraceFilters,
  component: lazyPart(
    "traces-page",
    async () => (await import("./traces/traces-page.tsx")).TracesPage,
  ),
});
const trace = createRoute({
  getParentRoute: () => root,
  path: "/traces/$id",
  validateSearch: readText("row"),
  component: lazyPart(
    "trace-page",
    async () => (await import("./traces/trace-page.tsx")).TracePage,
  ),
});

const escalations = createRoute({
  getParentRoute: () => root,
  path: "/escalations",
  validateSearch: readInboxTab,
  component: lazyPart(
    "escalations-page",
    async () => (await import("./escalations/escalations-page.tsx")).EscalationsPage,
  ),
});

const costs = createRoute({
  getParentRoute: () => root,
  path: "/costs",
  component: lazyPart("costs-page", async () => (await import("./costs/costs-page.tsx")).CostsPage),
});

const audit = createRoute({
  getParentRoute: () => root,
  path: "/audit",
  component: lazyPart("audit-page", async () => (await import("./audit/audit-page.tsx")).AuditPage),
});

const events = createRoute({
  getParentRoute: () => root,
  path: "/events",
  validateSearch: readText("q"),
  component: lazyPart(
    "events-page",
    async () => (await import("./events/events-page.tsx")).EventsPage,
  ),
});

/** Reads one member of an address, which may hold a number where text was meant. Pure. */
function readText<Name extends string>(
  name: Name,
): (search: Readonly<Record<string, unknown>>) => { readonly [Key in Name]?: string } {
  return ({ [name]: value }) =>
    (typeof value === "string" || typeof value === "number" ? { [name]: String(value) } : {}) as {
      readonly [Key in Name]?: string;
    };
}

const routeTree = root.addChildren([
  home,
  rooms,
  oneRoom,
  jobs.addChildren([oneJob]),
  plans,
  onePlan,
  oneDraft,
  oneRun.addChildren([onePort]),
  agents,
  oneAgent,
  newChat,
  oneChat,
  replay,
  traces,
  trace,
  escalations,
  events,
  costs,
  audit,
]);

export type Router = ReturnType<typeof makeRouter>;

/** The way from the address to its page. */
export function makeRouter() {
  return createRouter({
    routeTree,
    defaultErrorComponent: BrokenPage,
    defaultNotFoundComponent: UnknownPage,
  });
}

declare module "@tanstack/react-router" {
  interface Register {
    router: Router;
  }
}
