import { expect, test } from "vitest";
import { z } from "zod";
import { chatAgent } from "../engine/agent/agent.ts";
import { tool, type AnyTool } from "../engine/agent/tool.ts";
import { defineService, flow, type Service } from "../engine/service/service.ts";
import { silentLogger, type Logger } from "../kernel/logger.ts";
import type { TokenRecord } from "../server/token-store.ts";
import { warnOfMissingRoles } from "./missing-roles.ts";

function paying(role: string): AnyTool {
  return tool({
    description: "Pays.",
    inputSchema: z.object({}),
    effect: "once",
    approval: { by: { role } },
    execute: () => "paid",
  });
}

function serviceWith(tools: Readonly<Record<string, AnyTool>>): Service {
  return defineService({
    name: "till",
    agents: { clerk: chatAgent({ name: "clerk", prompt: "Help.", tools }) },
    flows: { DEFAULT: flow(async (turn) => turn.done({ message: "…" })) },
  });
}

const TILL = serviceWith({
  pay: paying("treasury"),
  refund: paying("treasury"),
  fire: paying("hr"),
});

const KEY: TokenRecord = {
  id: "token_1",
  name: "mina",
  tenant: "",
  scopes: ["chat"],
  createdAt: 0,
  revokedAt: null,
};

/** What a start with these tokens warns of. */
async function warnings(...tokens: readonly TokenRecord[]): Promise<readonly string[]> {
  const warned: string[] = [];
  const logger: Logger = { ...silentLogger, warn: (_, message) => void warned.push(message) };
  await warnOfMissingRoles([TILL], { list: async () => tokens }, logger);
  return warned;
}

const TREASURY = /no token has the role treasury, which approves pay, refund\. .*--roles treasury/u;
const HR = /no token has the role hr, which approves fire\. .*--roles hr/u;

test("a start warns once of each role that tools ask for and no token has", async () => {
  expect(await warnings(KEY)).toEqual([expect.stringMatching(TREASURY), expect.stringMatching(HR)]);
});

test("a start does not warn of a role that a token has, unless that was revoked", async () => {
  const treasurer = { ...KEY, roles: ["treasury"] };

  expect(await warnings(treasurer, KEY)).toEqual([expect.stringMatching(HR)]);
  expect(await warnings({ ...treasurer, revokedAt: 1 })).toHaveLength(2);
});
