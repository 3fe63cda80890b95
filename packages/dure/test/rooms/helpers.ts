import { expect } from "vitest";
import { z } from "zod";
import { tool, type AnyTool, type ApprovalBy } from "../../src/engine/agent/tool.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import type { CollaborateResult } from "../../src/rooms/handover/collaborate-call.ts";
import {
  startTestTeam,
  type Behave,
  type Name,
  type TestTeam,
  type TestTeamOptions,
} from "./team.ts";
import { eventually } from "../until.ts";
import type { TestPlatform } from "./platform.ts";

/** A reader without a tenant and a name. */
/** Each message is for whom it says alone, and has an answer of its own. */
export const ONE_BY_ONE = { policy: "queue" } as const;
export const ANONYMOUS = { tenant: "", person: "" };

/** Calls stay_silent and says nothing. */
export const silent: Behave = (heard) =>
  heard.results.length > 0 ? "." : { toolCalls: [{ name: "stay_silent", args: {} }] };

/** Who never stops by itself when 루다 hands over to 이든. */
export const NEVER_SILENT: readonly (readonly [string, Partial<Record<Name, Behave>>])[] = [
  [
    "two agents that always answer",
    { ruda: () => `이야기 ${Math.random()}`, eden: () => `이야기 ${Math.random()}` },
  ],
  [
    "three agents of which each calls the next",
    {
      ruda: () => `@이든 이야기 ${Math.random()}`,
      eden: () => `@세움 이야기 ${Math.random()}`,
      seum: () => `@루다 이야기 ${Math.random()}`,
    },
  ],
];

export type TeamOptions = Omit<Partial<TestTeamOptions>, "adapter"> &
  Partial<Pick<TestTeamOptions, "adapter">>;

/** A team on a platform, not yet connected. `general` is where its collaborations begin. */
export async function teamOn(platform: TestPlatform, options: TeamOptions = {}): Promise<TestTeam> {
  return startTestTeam({
    defaultChannel: platform.defaultChannel ?? "general",
    adapter: (database) => platform.adapter(database),
    agents: platform.agents,
    channels: platform.channels,
    ...options,
  });
}

/** The same, connected. */
export async function readyTeamOn(
  platform: TestPlatform,
  options: TeamOptions = {},
): Promise<TestTeam> {
  const team = await teamOn(platform, options);
  await platform.ready(team);
  return team;
}

/** `collaborate` waits for the platform's word as long as a test waits for anything. */
export const HEARS_PLATFORM = { deliveryWaitMs: 20_000 };

/** Nothing waits, runs or leaves, in any process. */
export async function settled(team: TestTeam): Promise<void> {
  await eventually(
    async () => {
      for (let quiet = 0; quiet < 3; quiet++) {
        if (quiet > 0) await systemClock.sleep(20);
        expect(await openIn(team)).toBe(0);
      }
    },
    { everyMs: 20 },
  );
}

async function openIn({ database }: TestTeam): Promise<number> {
  const [row] = await database.query<{ open: number }>({
    text: `
      select ((select count(*)
      from dure.handlings
      where state <> 'done') + (select count(*)
      from dure.outbox
      where state in ('pending', 'sending')
      and topic like 'room.%'
      and next_at < clock_timestamp() + interval '1 minute'))::integer as open`,
  });
  return row!.open;
}

export async function collaborate(
  team: TestTeam,
  agent: Name,
  call: Parameters<TestTeam["rooms"]["collaboration"]["collaborate"]>[1],
): Promise<Extract<CollaborateResult, { ok: true }>> {
  const result = await team.rooms.collaboration.collaborate({ agent }, call);
  if (!result.ok) throw new Error(`${result.code}: ${result.message}`);
  return result;
}

/** The team has heard that the message was edited or deleted. */
export async function changed({ database }: TestTeam, message: string): Promise<void> {
  await eventually(async () => {
    const [row] = await database.query<{ at: Date | null }>(
      { text: "select changed_at as at from dure.room_messages where id = $1" },
      [message],
    );
    expect(row?.at).toBeInstanceOf(Date);
  });
}

/** Who did what with a message. */
export async function rolesOf(team: TestTeam, message: string): Promise<Record<string, string>> {
  const stored = await team.rooms.message(message, ANONYMOUS);
  return Object.fromEntries(Object.entries(stored.roles).map(([agent, { role }]) => [agent, role]));
}

export async function participantsOf(team: TestTeam, thread: string): Promise<readonly string[]> {
  return [...((await team.rooms.reader.thread(thread, ANONYMOUS))?.participants ?? [])].sort();
}

export async function stateOf(team: TestTeam, thread: string): Promise<string | undefined> {
  return (await team.rooms.reader.thread(thread, ANONYMOUS))?.state;
}

/** Types of the open escalations, sorted. */
export async function openTypes(team: TestTeam): Promise<readonly string[]> {
  return (await team.inbox.list({ tenant: "", status: "open" })).items
    .map((entry) => entry.type)
    .sort();
}

/** State of each agent's account. */
export async function accountStates(team: TestTeam): Promise<Record<string, string | undefined>> {
  return Object.fromEntries(
    (await team.rooms.reader.agents()).map((agent) => [agent.id, agent.accounts[0]?.state]),
  );
}

/** Puts a version out, once per yes. */
export function deployTool(approval: true | { by: ApprovalBy; two?: boolean } = true): {
  tool: AnyTool;
  done: string[];
} {
  const done: string[] = [];
  const keys = new Set<string>();
  const deploy = tool({
    description: "Puts a version out.",
    inputSchema: z.object({ version: z.string() }),
    effect: "once",
    approval,
    execute: async ({ version }, { key }) => {
      if (!keys.has(key)) done.push(version);
      keys.add(key);
      return { deployed: version };
    },
    probe: async ({ key }) => (keys.has(key) ? "happened" : "not_happened"),
  });
  return { tool: deploy, done };
}
