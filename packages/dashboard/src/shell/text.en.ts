import type { ShellText } from "./text.ko.ts";

export const en: ShellText = {
  appName: "dure",
  skipToContent: "Skip to content",
  nav: {
    label: "Main menu",
    rooms: "Rooms",
    jobs: "Jobs",
    plans: "Plans",
    agents: "Agents",
    chat: "Chat",
    escalations: "Escalations",
    events: "Events",
    costs: "Costs",
    audit: "Audit",
    open: "Open menu",
    close: "Close menu",
  },
  waiting: (count) => `${count} waiting`,
  settings: {
    language: "Language",
    scheme: "Appearance",
    light: "Light",
    dark: "Dark",
    auto: "Auto",
    logout: "Log out",
  },
  login: {
    title: "Log in",
    lead: "This server asks for a token or a login link. The token is not kept in the browser.",
    token: "Token",
    showToken: "Show the token",
    submit: "Log in",
    hint: "At the server's machine `dure login` prints a link that works once. `dure token create` makes a token.",
  },
  connection: {
    unreachable: "The server cannot be reached",
    unreachableHint: "Check that `dure dev` or `dure start` runs. This page goes on when it does.",
    reconnecting: "Connection lost, reconnecting",
  },
};
