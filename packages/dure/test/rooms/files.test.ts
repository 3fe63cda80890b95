// @module-tag slow
import { expect, onTestFinished, test } from "vitest";
import { startTestServer } from "../../src/server/test-server.ts";
import { MemoryTokenStore } from "../../src/server/token-store.ts";
import { eventually } from "../until.ts";
import { discordPlatform } from "./discord-platform.ts";
import { readyTeamOn } from "./helpers.ts";
import { slackPlatform } from "./slack-platform.ts";
import type { Behave, Heard } from "./team.ts";
import { webPlatform } from "./web-platform.ts";

const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);
const IMAGE = { name: "화면.png", bytes: PNG, contentType: "image/png" };

/** What 루다 heard: the words, and names and types of files. */
function listener(): { heard: { text: string; files: unknown }[]; behave: Behave } {
  const heard: { text: string; files: unknown }[] = [];
  const behave = ({ text, request }: Heard): string => {
    const newest = request.messages.findLast(({ role }) => role === "user");
    const { files = [] } = (newest ?? {}) as { files?: readonly { name: string; type: string }[] };
    heard.push({ text, files: files.map(({ name, type }) => `${name} ${type}`) });
    return "봤어요";
  };
  return { heard, behave };
}

test(
  "a file of Slack reaches the model, read with the bot's token",
  { timeout: 60_000 },
  async () => {
    const stage = await slackPlatform();
    const { heard, behave } = listener();
    await readyTeamOn(stage, { behave: { ruda: behave } });

    stage
      .person("민준")
      .post({ channel: stage.places.general }, "이 화면 봐 줘", { files: [IMAGE] });

    await eventually(() => expect(heard).toHaveLength(1));
    expect(heard[0]).toMatchObject({ text: "민준: 이 화면 봐 줘\n> [화면.png]" });
    expect(heard[0]?.files).toEqual(["화면.png image/png"]);
    expect(stage.slack.files.requests).toEqual([
      { name: "화면.png", authorization: "Bearer xoxb-ruda", status: 200 },
    ]);
  },
);

test.each([
  ["a login page", { kind: "login-page" }, "(it showed a login page)"],
  ["a body without an end", { kind: "endless" }, "too large"],
  ["a file that is gone", { kind: "status", status: 404 }, "it is gone"],
  [
    "a redirect into the machine",
    { kind: "redirect", to: "http://127.0.0.1:1/secret" },
    "it stays at the platform",
  ],
] as const)(
  "%s in place of a file of Slack costs a line, and the message is answered",
  async (_what, fault, said) => {
    const stage = await slackPlatform();
    const { heard, behave } = listener();
    await readyTeamOn(stage, { behave: { ruda: behave } });
    stage.slack.files.fault(IMAGE.name, fault);

    stage.person("민준").post({ channel: stage.places.general }, "봐 줘", { files: [IMAGE] });

    await eventually(() => expect(heard).toHaveLength(1));
    expect(heard[0]?.files).toEqual([]);
    expect(heard[0]?.text).toContain("[화면.png]");
    expect(heard[0]?.text).toContain(said);
  },
);

test("a token never follows a redirect to another host", async () => {
  const stage = await slackPlatform();
  const { heard, behave } = listener();
  await readyTeamOn(stage, { behave: { ruda: behave } });
  const other = await discordPlatform();
  stage.slack.files.fault(IMAGE.name, {
    kind: "redirect",
    to: `${new URL(other.discord.url).origin}/attachments/1/2/x.png`,
  });

  stage.person("민준").post({ channel: stage.places.general }, "봐 줘", { files: [IMAGE] });

  await eventually(() => expect(heard).toHaveLength(1));
  expect(other.discord.files.requests).toEqual([]);
});

test("a platform that is away for a moment is waited for, and its file is not lost", async () => {
  const stage = await slackPlatform();
  const { heard, behave } = listener();
  await readyTeamOn(stage, { behave: { ruda: behave } });
  stage.slack.files.fault(IMAGE.name, { kind: "status", status: 503 });
  stage.slack.files.fault(IMAGE.name, { kind: "cut" });

  stage.person("민준").post({ channel: stage.places.general }, "봐 줘", { files: [IMAGE] });

  await eventually(() => expect(heard).toHaveLength(1));
  expect(heard[0]?.files).toEqual(["화면.png image/png"]);
}, 60_000);

test("a file of Discord whose address has run out is read at a new one, without a token", async () => {
  const stage = await discordPlatform();
  const { heard, behave } = listener();
  await readyTeamOn(stage, { behave: { ruda: behave } });
  stage.discord.files.fault(IMAGE.name, { kind: "status", status: 404 });

  stage.person("민준").post(stage.places.general, "이거", { attachments: [IMAGE] });

  await eventually(() => expect(heard).toHaveLength(1));
  expect(heard[0]?.files).toEqual(["화면.png image/png"]);
  expect(
    stage.discord.files.requests.map(({ status, authorization }) => [status, authorization]),
  ).toEqual([
    [404, undefined],
    [200, undefined],
  ]);
});

test("a file whose bytes are of no type that is taken is told with its reason", async () => {
  const stage = await discordPlatform();
  const { heard, behave } = listener();
  await readyTeamOn(stage, { behave: { ruda: behave } });
  const bytes = Uint8Array.from([0x4d, 0x5a, 0, 1, 2, 3]);
  const disguised = { name: "photo.png", bytes, contentType: "image/png" };

  stage.person("민준").post(stage.places.general, "이거", { attachments: [disguised] });

  await eventually(() => expect(heard).toHaveLength(1));
  expect(heard[0]?.text).toContain("[photo.png] (6 B, not read: its type is not taken)");
});

test("a file that was uploaded to a web room is shown there and handed to the model", async () => {
  const { heard, behave } = listener();
  const team = await readyTeamOn(webPlatform(), { behave: { ruda: behave } });
  const server = await startTestServer({
    rooms: team.rooms,
    inbox: team.inbox,
    auth: new MemoryTokenStore(),
  });
  onTestFinished(() => server[Symbol.asyncDispose]());
  const room = "/v1/rooms/web%3Ageneral";

  const form = new FormData();
  form.set("file", new File(["<script>alert(1)</script>"], "a.html"));
  const uploaded = await server.fetch(`${room}/files?as_person=${encodeURI("민준")}`, {
    method: "POST",
    body: form,
  });
  const { files } = (await uploaded.json()) as { files: [{ id: string }] };
  const [{ id }] = files;
  const posted = await server.post(`${room}/messages`, {
    text: "",
    files: [id],
    as_person: "민준",
  });

  expect([uploaded.status, posted.status]).toEqual([201, 202]);
  await eventually(() => expect(heard).toHaveLength(1));
  expect(heard[0]?.files).toEqual(["a.txt text/plain"]);
  const read = await server.fetch(`${room}/files/${id}?as_person=${encodeURI("민준")}`);
  expect(await read.text()).toBe("<script>alert(1)</script>");
  expect(read.headers.get("content-type")).toBe("text/plain; charset=utf-8");
  expect(read.headers.get("content-disposition")).toMatch(/^attachment; filename="a.txt"/);
  expect(read.headers.get("content-security-policy")).toContain("sandbox");
  const elsewhere = await server.fetch(`/v1/rooms/web%3Aquiet/files/${id}?as_person=x`);
  expect(elsewhere.status).toBe(404);
});
