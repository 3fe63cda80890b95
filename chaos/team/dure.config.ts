import { chatAgent, defineService, flow, type Service } from "dure";
import { web } from "dure/channels";
import { defineTeam } from "dure/team";
import { moneyService } from "./money.ts";

const { CHAOS_BANK_URL = "", CHAOS_ALLOWED_HOST } = process.env;

/** One room's agent: a model that answers a message. */
function roomService(name: string): Service {
  const agent = chatAgent({ name, prompt: `agent:${name}` });
  return defineService({
    name,
    agents: { [name]: agent },
    flows: {
      DEFAULT: flow(async (turn) =>
        turn.done({ message: (await turn.agent(name, "answering")).text }),
      ),
    },
  });
}

export default defineTeam({
  name: "chaos",
  locale: "en",
  timeZone: "UTC",
  model: "openai:chaos-1",
  server: {
    drain: "10s",
    limits: { perAddress: 10_000_000, perLoopback: 10_000_000, perToken: 10_000_000 },
    allowedHosts: CHAOS_ALLOWED_HOST === undefined ? [] : [CHAOS_ALLOWED_HOST],
  },
  // A load of minutes must not run into what stops endless talk.
  limits: {
    thread: { messages: 1_000, per: "1s" },
    exchange: 1_000,
    pair: { calls: 1_000, per: "1s" },
  },
  // As many as ask at once, so that no job waits for another one's frozen process.
  jobs: { permits: 8 },
  memory: { enableSummary: false },
  agents: {
    ara: { displayName: "ara", leads: true, service: "ara" },
    bora: { displayName: "bora", service: "bora" },
  },
  rooms: {
    adapters: [web()],
    // Each message is held to an answer of its own.
    gather: { policy: "queue" },
    channels: {
      r1: { defaultAgent: "ara" },
      r2: { defaultAgent: "ara" },
      r3: { defaultAgent: "ara" },
    },
  },
  services: {
    money: moneyService(CHAOS_BANK_URL),
    ara: roomService("ara"),
    bora: roomService("bora"),
  },
});
