import { factOf } from "../coded-words.ts";
import type { AgentsText } from "./text.ko.ts";

export const en: AgentsText = {
  pageTitle: "Agents",
  lead: "Who is here, what they do, and what it costs.",
  search: "Search agents",
  empty: "No agents yet.",
  emptyHint: "Add agents to `agents` in `dure.config.ts` and start the server again.",
  noMatch: (query) => `No agent matches “${query}”.`,
  leads: "Lead",
  states: {
    starting: "Starting",
    ready: "Online",
    reconnecting: "Reconnecting",
    paused: "Paused",
    refused: "Refused",
    stopped: "Off",
  },
  offline: "No account",
  accounts: "Accounts",
  persona: "Persona (SOUL.md)",
  noAccounts: "No account is connected.",
  service: "Service",
  models: "Model",
  noModel: "None of its own",
  channel: "Default channel",
  noChannel: "The team's default",
  load: "Load",
  working: (count) => `${count} answering`,
  waiting: (count) => `${count} waiting`,
  idle: "Idle",
  spend: "Last 24 hours",
  tokens: (count) => `${count.toLocaleString("en")} tokens`,
  pause: "Pause",
  resume: "Resume",
  pausedSince: (when, by) =>
    by === "" ? `Paused since ${when}.` : `Paused by ${by} since ${when}.`,
  pausedHint: "No new model call begins. What is asked waits, and goes on afterwards.",
  since: (when) => `since ${when}`,
  reasons: {
    "token-refused": () =>
      "Discord does not accept the bot's token. Make a new one in the developer portal, set " +
      "it, and start the server again.",
    "intent-refused": () =>
      "Switch on Message Content Intent under Bot in the developer portal, and start the server again.",
    "token-missing": ({ account }) =>
      `There is no bot token for the account ${factOf(account)}. Set it and start the server again.`,
    outage: ({ servers }) =>
      `Discord has an outage in the server ${factOf(servers)}. What is said there waits until it is over.`,
    "event-left-out": ({ event }) =>
      `Discord sent something that dure does not understand (${factOf(event)}). It was left out; ` +
      "the log says more.",
    "starts-low": ({ remaining }) =>
      `Only ${factOf(remaining)} session starts are left for the bot today, so it rests. It ` +
      "connects again by itself when there are more.",
    "no-server": () => "The bot is in no server. `dure doctor` gives the link that invites it.",
  },
};
