// @module-tag slow
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { PNG } from "../../src/durable/files/test-files.ts";
import { fileResult } from "../../src/engine/agent/file-result.ts";
import { tool } from "../../src/engine/agent/tool.ts";
import { boundMs } from "../../src/kernel/test-bounds.ts";
import { FULL } from "../../src/kernel/test-tiers.ts";
import { ChannelError, type ChannelAdapter } from "../../src/rooms/channel-adapter.ts";
import { startTestServer } from "../../src/server/test-server.ts";
import { MemoryTokenStore } from "../../src/server/token-store.ts";
import { eventually } from "../until.ts";
import { discordPlatform } from "./discord-platform.ts";
import { readyTeamOn, settled, teamOn } from "./helpers.ts";
import type { TestPlatform } from "./platform.ts";
import { slackPlatform } from "./slack-platform.ts";
import type { Behave, TestTeam } from "./team.ts";
import { webPlatform } from "./web-platform.ts";

/** Files that agents make, in the rooms in which they answer. */

const NAME = "그림.png";
const LINE = `루다: 그렸어요`;
const TAKEN_OVER_MS = boundMs(15_000);

const draw = tool({
  description: "Draws.",
  inputSchema: z.object({}),
  execute: () => fileResult("drawn", [{ name: NAME, bytes: PNG }]),
});

const ruda: Behave = ({ results }) =>
  results.length > 0 ? "그렸어요" : { toolCalls: [{ name: "draw", args: {} }] };

const DRAWS = { tools: { draw }, behave: { ruda } };

/** A platform, and the names of the files that people see there, one list for each message. */
interface Shown {
  readonly stage: TestPlatform;
  readonly files: () => readonly (readonly string[])[];
  readonly bytes: () => Uint8Array | undefined;
  /** The platform refuses files from now on. */
  readonly refuse: () => void;
}

async function slack(): Promise<Shown> {
  const stage = await slackPlatform();
  const messages = () =>
    stage.slack.messages({ channel: stage.places.general }).filter(({ files }) => files.length > 0);
  return {
    stage,
    files: () => messages().map(({ files }) => files.map(({ name }) => name)),
    bytes: () => messages()[0]?.files[0]?.bytes,
    refuse: () =>
      stage.slack.fault(
        { method: "files.completeUploadExternal" },
        { kind: "error", error: "not_in_channel" },
      ),
  };
}

async function discord(): Promise<Shown> {
  const stage = await discordPlatform();
  const some = () =>
    stage.discord.messages(stage.places.general).filter(({ files }) => files.length > 0);
  return {
    stage,
    files: () => some().map(({ attachments }) => attachments),
    bytes: () => some()[0]?.files[0],
    refuse: () =>
      stage.discord.setPermissions(stage.bots.ruda, stage.places.general, {
        deny: ["ATTACH_FILES"],
      }),
  };
}

const PLATFORMS = [
  ["slack", slack],
  ["discord", discord],
] as const;

/** The adapter, with something that happens after a post of files has arrived. */
function afterFiles(adapter: ChannelAdapter, then: () => Promise<void>): ChannelAdapter {
  const post = adapter.post.bind(adapter);
  adapter.post = async (given, options) => {
    const posted = await post(given, options);
    if (given.files) await then();
    return posted;
  };
  return adapter;
}

async function asked(stage: TestPlatform, team: TestTeam): Promise<void> {
  await stage.say(team, "@루다 그려 줘");
}

/** What the room has of the answer. */
async function attachmentsIn(team: TestTeam, place: string): Promise<readonly object[]> {
  const messages = await team.rooms.reader.messages(place, { limit: 10 });
  return messages.flatMap(({ attachments }) => attachments as readonly object[]);
}

test.each(PLATFORMS)(
  "a file that an agent makes is on %s once, under its words",
  async (name, make) => {
    const { stage, files, bytes } = await make();
    const team = await readyTeamOn(stage, DRAWS);

    await asked(stage, team);

    await eventually(() => expect(files()).toEqual([[NAME]]));
    await settled(team);
    expect(files()).toEqual([[NAME]]);
    expect(Buffer.from(bytes()!)).toEqual(Buffer.from(PNG));
    expect(
      (await stage.shown(team, `${name}:general`)).filter((line) => line.startsWith(LINE)),
    ).toHaveLength(1);
  },
  60_000,
);

test.each(PLATFORMS)(
  "a file on %s whose post got no answer is not posted again",
  async (_name, make) => {
    const { stage, files } = await make();
    let lost = 1;
    const lose = async (): Promise<void> => {
      if (lost-- > 0) throw new ChannelError("transient", "The answer is lost.");
    };
    const team = await readyTeamOn(stage, {
      ...DRAWS,
      adapter: (database) => afterFiles(stage.adapter(database) as ChannelAdapter, lose),
    });

    await asked(stage, team);

    await eventually(() => expect(files()).toEqual([[NAME]]));
    await settled(team);
    expect(lost).toBeLessThan(1);
    expect(files()).toEqual([[NAME]]);
  },
  60_000,
);

test.each(PLATFORMS)(
  "a process that is cut off behind its file on %s leaves it to another, which posts no second one",
  { ...FULL, timeout: 90_000 },
  async (_name, make) => {
    const { stage, files } = await make();
    const { promise: posted, resolve: isPosted } = Promise.withResolvers<void>();
    const hang = (): Promise<void> => {
      isPosted();
      return new Promise(() => {});
    };
    const first = await readyTeamOn(stage, {
      ...DRAWS,
      adapter: (database) => afterFiles(stage.adapter(database) as ChannelAdapter, hang),
    });
    await asked(stage, first);
    await posted;
    const second = await teamOn(stage, { ...DRAWS, on: first });

    await second.database.query(
      {
        text: `
          update dure.processes
          set epoch = epoch + 1, ended_at = clock_timestamp(), ended_because = 'silent'
          where id = $1`,
      },
      [first.processId],
    );

    const SENT =
      "select count(*)::integer as open from dure.outbox where state in ('pending', 'sending') and topic like 'room.%'";
    await eventually(
      async () => expect(await second.database.query({ text: SENT })).toEqual([{ open: 0 }]),
      { patienceMs: TAKEN_OVER_MS + 15_000 },
    );
    expect(files()).toEqual([[NAME]]);
  },
);

test.each(PLATFORMS)(
  "a file that %s refuses is told by its name, and the room has it",
  async (name, make) => {
    const { stage, files, refuse } = await make();
    const team = await readyTeamOn(stage, DRAWS);
    refuse();

    await asked(stage, team);

    await eventually(async () =>
      expect((await stage.shown(team, `${name}:general`)).at(-1)).toBe(
        `루다: 파일을 여기로 보내지 못했어요: ${NAME}. 대시보드의 방에서 볼 수 있어요.`,
      ),
    );
    expect(files()).toEqual([]);
    expect(await attachmentsIn(team, `${name}:general`)).toMatchObject([{ name: NAME }]);
  },
  60_000,
);

test("a file that an agent makes is in its web room, and nowhere else", async () => {
  const stage = webPlatform();
  const team = await readyTeamOn(stage, DRAWS);
  const server = await startTestServer({
    rooms: team.rooms,
    inbox: team.inbox,
    auth: new MemoryTokenStore(),
  });
  onTestFinished(() => server[Symbol.asyncDispose]());

  await asked(stage, team);

  const [file] = await eventually(async () => {
    const found = await attachmentsIn(team, "web:general");
    expect(found).toMatchObject([{ name: NAME, contentType: "image/png", size: PNG.length }]);
    return found as readonly { readonly url: string; readonly file: string }[];
  });
  const read = await server.fetch(`${file!.url}?as_person=${encodeURI("민준")}`);
  expect(Buffer.from(await read.arrayBuffer())).toEqual(Buffer.from(PNG));
  const elsewhere = await server.fetch(`/v1/rooms/web%3Aquiet/files/${file!.file}?as_person=x`);
  expect(elsewhere.status).toBe(404);
});

test("a file that an agent hands over with its work is in the thread, and the other one gets it", async () => {
  const seen: string[][] = [];
  const team = await readyTeamOn(webPlatform(), {
    tools: { draw },
    behave: {
      ruda: ({ results, text }) => {
        if (!text.includes("그려 줘")) return "고마워요";
        if (results.length === 0) return { toolCalls: [{ name: "draw", args: {} }] };
        if (results.length > 1) return "맡겼어요";
        const args = { targetAgent: "eden", message: "이 그림을 봐 줘", files: [NAME] };
        return { toolCalls: [{ name: "collaborate", args }] };
      },
      eden: ({ request }) => {
        const last = request.messages.findLast(({ role }) => role === "user");
        seen.push(last?.role === "user" ? (last.files ?? []).map(({ name }) => name) : []);
        return "봤어요";
      },
    },
  });

  await webPlatform().say(team, "@루다 그려 줘");

  await eventually(() => expect(seen).toEqual([[NAME]]));
  const [thread] = await team.database.query<{ thread: string }>({
    text: "select thread from dure.requests",
  });
  expect(await attachmentsIn(team, thread!.thread)).toMatchObject([
    { name: NAME, contentType: "image/png", size: PNG.length },
  ]);
});

test("a file that a conversation does not have refuses the hand-over, and nothing is posted", async () => {
  const team = await readyTeamOn(webPlatform());
  const call = { targetAgent: "eden", message: "봐 줘", files: [NAME] };

  const result = await team.rooms.collaboration.collaborate({ agent: "ruda" }, call);

  expect(result).toMatchObject({
    ok: false,
    code: "INVALID_ARGUMENT",
    hint: "This conversation has: no files.",
  });
  expect(await team.database.query({ text: "select id from dure.room_messages" })).toEqual([]);
});
