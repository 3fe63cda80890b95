import { createRootRoute, createRoute, createRouter, lazyRouteComponent, redirect } from "@tanstack/react-router";
import { Shell } from "./shell/shell.tsx";

const root = createRootRoute({ component: Shell });

const home = createRoute({
  getParentRoute: () => root,
  path: "/",
  beforeLoad: () => redirect({ to: "/chat", throw: true }),
});

const chatPage = lazyRouteComponent(() => import("./chat/chat-page.tsx"), "ChatPage");
const newChat = createRoute({ getParentRoute: () => root, path: "/chat", component: chatPage });
const oneChat = createRoute({ getParentRoute: () => root, path: "/chat/$session", component: chatPage });

const escalations = createRoute({
  getParentRoute: () => root,
  path: "/escalations",
  component: lazyRouteComponent(() => import("./escalations/escalations-page.tsx"), "EscalationsPage"),
});

const events = createRoute({
  getParentRoute: () => root,
  path: "/events",
  component: lazyRouteComponent(() => import("./events/events-page.tsx"), "EventsPage"),
});

export const router = createRouter({
  routeTree: root.addChildren([home, newChat, oneChat, escalations, events]),
  defaultNotFoundComponent: NotFound,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}

function NotFound(): null {
  void router.navigate({ to: "/chat", replace: true });
  return null;
}
