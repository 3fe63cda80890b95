// @module-tag slow
import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { z } from "zod";
import { FULL } from "../../src/kernel/test-tiers.ts";
import type { RoomChannel } from "../../src/rooms/directory.ts";
import { eventually } from "../until.ts";
import { ANONYMOUS, readyTeamOn } from "./helpers.ts";
import type { TestTeam } from "./team.ts";
import { webPlatform } from "./web-platform.ts";

const step = z.union([
  z.object({
    as: z.string(),
    who: z.string(),
    text: z.string(),
    below: z.string().optional(),
    replyTo: z.string().optional(),
  }),
  z.object({ wait: z.literal(true) }),
  z.object({ edit: z.string(), text: z.string() }),
  z.object({ delete: z.string() }),
]);
const situation = z.object({
  id: z.number(),
  steps: z.array(step),
  /** By message: the agents that answer it. */
  answers: z.record(z.string(), z.array(z.string())),
  why: z.string(),
});
type Situation = z.output<typeof situation>;

/** Situations that people wrote without knowing the rules, each in a channel of its own. */
async function situations(): Promise<readonly Situation[]> {
  const file = new URL("situations.jsonl", import.meta.url);
  const lines = (await readFile(file, "utf8")).trim().split("\n");
  return lines.map((line) => situation.parse(JSON.parse(line)));
}

const AT_ONCE = 6;
const MOST_OTHERS = 7;

test(
  "in 300 situations no agent is silent where it is spoken to, and none answers twice",
  { ...FULL, timeout: 900_000 },
  async () => {
    const all = await situations();
    const platform = webPlatform();
    const team = await readyTeamOn(
      { ...platform, channels: all.map(({ id }) => channelOf(id)), defaultChannel: "c1" },
      { gather: { restMs: 1_000, mostMs: 8_000 } },
    );
    const left = [...all];
    const wrong: string[] = [];
    const twice: string[] = [];
    const silent: string[] = [];
    const worker = async (): Promise<void> => {
      for (let one = left.shift(); one !== undefined; one = left.shift()) {
        const seen = await act(team, one);
        for (const [as, expected] of Object.entries(one.answers)) {
          const got = seen.answered.get(as) ?? [];
          if (expected.length > 0 && got.length === 0) silent.push(`${one.id} ${as}`);
          const [due, came] = [expected.toSorted().join(), got.join()];
          if (came !== due) {
            wrong.push(`${one.id} ${as}: ${due} expected, ${came} came (${one.why})`);
          }
        }
        if (seen.repeated.length > 0) twice.push(`${one.id}: ${seen.repeated.join()}`);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));

    expect(twice).toEqual([]);
    expect(silent).toEqual([]);
    // Of 705 messages 1 %: who calls a person by a bare name that is not known there, and whose next
    // message calls another agent, is answered as written.
    expect(wrong.length, wrong.join("\n")).toBeLessThanOrEqual(MOST_OTHERS);
  },
);

function channelOf(id: number): RoomChannel {
  return { key: `c${id}`, adapter: "web", name: `c${id}`, channel: `c${id}`, collaborate: true };
}

/** Does what people do; gives who has answered what, and agents that answered one burst twice. */
async function act(team: TestTeam, { id, steps }: Situation) {
  const channel = `web:c${id}`;
  const ids = new Map<string, string>();
  const bursts: string[][] = [[]];
  const named = async (name: string): Promise<string> => {
    const [, as = "", agent = ""] = /^answer:([^:]+):(.+)$/.exec(name) ?? [];
    if (as === "") return ids.get(name)!;
    const { roles } = await team.rooms.message(ids.get(as)!, ANONYMOUS);
    // Without the answer people would write below the question.
    return roles[agent]?.answer ?? ids.get(as)!;
  };
  for (const one of steps) {
    if ("wait" in one) {
      await quiet(team, channel);
      bursts.push([]);
    } else if ("edit" in one) {
      const author = await authorOf(team, ids.get(one.edit)!);
      await team.rooms.own.edit(ids.get(one.edit)!, author, one.text);
    } else if ("delete" in one) {
      await team.rooms.own.delete(ids.get(one.delete)!, await authorOf(team, ids.get(one.delete)!));
      ids.delete(one.delete);
    } else {
      const { as, who, text, below, replyTo } = one;
      const posted = await team.rooms.post(
        { tenant: "", person: who },
        {
          place: channel,
          text,
          ...(below !== undefined && { below: await named(below) }),
          ...(replyTo !== undefined && { replyTo: await named(replyTo) }),
        },
      );
      ids.set(as, posted.messageId);
      bursts.at(-1)!.push(`${who} ${posted.place} ${posted.messageId}`);
    }
  }
  await quiet(team, channel);
  const answered = new Map<string, readonly string[]>();
  for (const [as, message] of ids) {
    const { roles } = await team.rooms.message(message, ANONYMOUS);
    const agents = Object.keys(roles).filter((agent) => roles[agent]?.answer !== undefined);
    answered.set(as, agents.toSorted());
  }
  return { answered, repeated: await repeatedIn(team, bursts) };
}

async function authorOf(team: TestTeam, message: string) {
  return { tenant: "", person: (await team.rooms.message(message, ANONYMOUS)).author };
}

/** Agents that answered one person's burst in one place more than once. */
async function repeatedIn(team: TestTeam, bursts: readonly string[][]): Promise<readonly string[]> {
  const repeated: string[] = [];
  for (const burst of bursts) {
    const byLine = Map.groupBy(burst, (line) => line.slice(0, line.lastIndexOf(" ")));
    for (const lines of byLine.values()) {
      const answers = new Map<string, Set<string>>();
      for (const line of lines) {
        const { roles } = await team.rooms.message(line.split(" ").at(-1)!, ANONYMOUS);
        for (const [agent, { answer }] of Object.entries(roles)) {
          if (answer !== undefined) {
            answers.set(agent, (answers.get(agent) ?? new Set()).add(answer));
          }
        }
      }
      for (const [agent, { size }] of answers) if (size > 1) repeated.push(`${agent} ×${size}`);
    }
  }
  return repeated;
}

/** Nothing waits or runs in a channel and its threads, and all that was said has left. */
async function quiet({ database }: TestTeam, channel: string): Promise<void> {
  await eventually(
    async () => {
      const [row] = await database.query<{ open: number }>(
        {
          text: `
            select (
              (
                select count(*)
                from dure.handlings h
                join dure.places p on p.id = h.place
                where h.state <> 'done' and (p.id = $1 or p.parent = $1)
              ) + (
                select count(*)
                from dure.room_messages m
                join dure.places p on p.id = m.place
                where m.delivery = 'queued' and (p.id = $1 or p.parent = $1)
              )
            )::integer as open`,
        },
        [channel],
      );
      expect(row!.open).toBe(0);
    },
    { everyMs: 50 },
  );
  // What people do next is a minute later.
  await database.query(
    {
      text: `
        update dure.room_messages
        set heard_at = heard_at - interval '1 minute'
        where place in (select id from dure.places where id = $1 or parent = $1)`,
    },
    [channel],
  );
}
