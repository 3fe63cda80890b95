// @module-tag slow
import { expect, test } from "vitest";
import { Directory } from "../../src/rooms/directory.ts";
import { eventually } from "../until.ts";
import { readyTeamOn, settled, silent } from "../rooms/helpers.ts";
import type { Behave, TestTeam } from "../rooms/team.ts";
import { webPlatform } from "../rooms/web-platform.ts";

const CHANNELS = (["general", "lab"] as const).map((key) => ({
  key,
  adapter: "web",
  name: key,
  channel: key,
  collaborate: true,
}));
const NO_TENANT = { tenant: "", person: "민준" };
const ACME = { tenant: "acme", person: "민준" };
const BETA = { tenant: "beta", person: "민준" };

async function aTeam(behave: Partial<Record<"ruda" | "eden", Behave>> = {}): Promise<TestTeam> {
  return readyTeamOn(webPlatform(), {
    behave: { ruda: () => "네", eden: silent, ...behave },
    channels: CHANNELS,
  });
}

test("the same channel is another room for each tenant, and the agents answer in each", async () => {
  const team = await aTeam();
  for (const who of [NO_TENANT, ACME, BETA]) {
    await team.rooms.post(who, {
      place: "web:general",
      text: `@루다 hello of ${who.tenant || "none"}`,
    });
  }
  await settled(team);

  for (const who of [NO_TENANT, ACME, BETA]) {
    const { items } = await team.rooms.list(who);
    const general = await team.rooms.place("web:general", who);
    const said = await team.rooms.reader.messages(general.id, {});
    expect(items.map(({ name, tenant }) => [name, tenant])).toEqual([
      ["general", who.tenant],
      ["lab", who.tenant],
    ]);
    expect(said.map(({ text }) => text)).toEqual([`@루다 hello of ${who.tenant || "none"}`, "네"]);
  }
});

test("another tenant's room, message and thread are not there, and neither is a room that has no tenant", async () => {
  const team = await aTeam();
  const { messageId } = await team.rooms.post(ACME, {
    place: "web:general",
    text: "words of acme",
  });
  const alone = await team.rooms.post(NO_TENANT, { place: "web:general", text: "words of none" });

  for (const who of [BETA, NO_TENANT]) {
    await expect(team.rooms.place("web:general@acme", who)).rejects.toMatchObject({
      code: "PLACE_UNKNOWN",
    });
    await expect(
      team.rooms.post(who, { place: "web:general@acme", text: "x" }),
    ).rejects.toMatchObject({ code: "PLACE_UNKNOWN" });
    await expect(team.rooms.message(messageId, who)).rejects.toMatchObject({
      code: "ROOM_MESSAGE_UNKNOWN",
    });
  }
  await expect(team.rooms.message(alone.messageId, ACME)).rejects.toMatchObject({
    code: "ROOM_MESSAGE_UNKNOWN",
  });
  expect(await team.rooms.message(messageId, { ...NO_TENANT, seesAll: true })).toMatchObject({
    text: "words of acme",
  });
});

test("what agents overhear in a tenant's room is recorded for that tenant alone", async () => {
  const team = await aTeam();
  await team.rooms.post(ACME, { place: "web:general", text: "@루다 a secret of acme" });
  await settled(team);
  const heard = async (tenant: string | null): Promise<readonly string[]> =>
    (await team.rooms.reader.observations({ tenant })).map(({ excerpt }) => excerpt);

  await eventually(async () => expect((await heard("acme")).join()).toContain("a secret of acme"));
  expect((await heard("beta")).join()).not.toContain("secret");
  expect((await heard("")).join()).not.toContain("secret");
  expect((await heard(null)).join()).toContain("a secret of acme");
});

test("what an agent hands on in a tenant's room stays with that tenant", async () => {
  const ruda: Behave = (heard) =>
    heard.results.length === 0 && heard.text.includes("맡겨")
      ? { toolCalls: [{ name: "collaborate", args: { targetAgent: "eden", message: "검토" } }] }
      : silent(heard);
  const team = await aTeam({ ruda });
  await team.rooms.post(ACME, { place: "web:general", text: "@루다 이든한테 맡겨 줘" });
  await settled(team);
  await team.rooms.post(BETA, { place: "web:general", text: "@루다 이든한테 맡겨 줘" });
  await settled(team);

  const [ofAcme] = await team.database.query<{ id: string }>({
    text: "select id from dure.places where kind = 'thread' and tenant = 'acme'",
  });
  expect(await team.rooms.reader.thread(ofAcme!.id, ACME)).toMatchObject({ id: ofAcme!.id });
  expect(await team.rooms.reader.thread(ofAcme!.id, BETA)).toBeUndefined();
  expect(await team.rooms.reader.threads("web:general@acme", BETA)).toEqual([]);
  const threads = await team.database.query<{ parent: string; tenant: string }>({
    text: "select parent, tenant from dure.places where kind = 'thread' order by created_at",
  });
  expect(threads).toEqual([
    { parent: "web:general@acme", tenant: "acme" },
    { parent: "web:general@beta", tenant: "beta" },
  ]);
  const events = await team.database.query<{ tenant: string }>({
    text: "select distinct tenant from dure.events where room is not null order by 1",
  });
  expect(events.map(({ tenant }) => tenant)).toEqual(["acme", "beta"]);
});

test("a channel that leaves the configuration is closed for each tenant, and open again with it", async () => {
  const team = await aTeam();
  await team.rooms.list(ACME);
  const standing = async (): Promise<readonly string[]> =>
    (await team.rooms.list(ACME)).items.map(({ name, state }) => `${name} ${state}`);
  const agents = team.rooms.directory.agents;

  await team.rooms.enrol(new Directory({ agents, channels: CHANNELS.slice(0, 1) }));
  const [lab] = await team.database.query<{ state: string }>({
    text: "select state from dure.places where id = 'web:lab@acme'",
  });
  await team.rooms.enrol(new Directory({ agents, channels: CHANNELS }));

  expect(lab).toEqual({ state: "closed" });
  expect(await standing()).toEqual(["general open", "lab open"]);
});
