import { chatAgent, defineService, flow, tool } from "dure";
import { defineTeam } from "dure/team";
import { z } from "zod";

const { LOOP_WORLD = "" } = process.env;

/** What the outside says to a call of a tool. */
async function world(path: string, signal: AbortSignal): Promise<unknown> {
  const response = await fetch(`${LOOP_WORLD}/world/${path}`, { method: "POST", signal });
  return response.json();
}

const pay = tool({
  description: "Pays an amount of money to a person.",
  inputSchema: z.object({ to: z.string() }),
  effect: "once",
  recover: "probe",
  settle: "1s",
  timeout: "5s",
  execute: ({ to }, { signal }) => world(`pay/${to}`, signal),
  probe: async (_about, { signal }) => {
    const { paid } = (await world("paid", signal)) as { paid: boolean };
    return paid ? "happened" : "not_happened";
  },
});

const ledger = tool({
  description: "Gives the whole ledger.",
  always: true,
  inputSchema: z.object({}),
  execute: (_input, { signal }) => world("ledger", signal),
});

const shelves = Object.fromEntries(
  Array.from({ length: 60 }, (_, index) => [
    `shelf_${index}`,
    tool({
      description: `Counts boxes on shelf ${index}.`,
      inputSchema: z.object({}),
      execute: () => index,
    }),
  ]),
);

const clerk = chatAgent({
  name: "clerk",
  prompt: "Help.",
  tools: { ...shelves, pay, ledger },
  card: {
    skills: ["refunds"],
    policy: { maxTools: 8, maxResultBytes: 10_000, maxAttempts: 1, backoffSec: 0 },
  },
});

export default defineTeam({
  name: "loop",
  locale: "en",
  model: "openai:gpt-first, openai:gpt-second",
  prices: {
    "openai:gpt-first": { in: 1, out: 1 },
    "openai:gpt-second": { in: 1, out: 1 },
  },
  services: {
    desk: defineService({
      name: "desk",
      agents: { clerk },
      memory: { summarizeThreshold: 50 },
      flows: {
        DEFAULT: flow(async (turn) =>
          turn.done({ message: (await turn.agent("clerk", "…")).text }),
        ),
      },
    }),
  },
});
