import { FakeDiscord } from "@dure/testing";
import { expect, test } from "vitest";
import { problemsOf, type Held } from "../../../../testing/src/test-types.ts";
import { FULL } from "../../kernel/test-tiers.ts";
import type { ChannelAccount, OutgoingPost, PlaceAddress } from "../../rooms/channel-adapter.ts";
import { RecordingPort } from "../test-port.ts";
import { DiscordAdapter } from "./discord-adapter.ts";
import { eventually } from "../../../test/until.ts";

/**
 * What dure asks Discord for, held against the platform's own types: `discord-api-types` is made
 * from its documentation by those who maintain discord.js. A member that it does not name is a
 * mistake too.
 */
const BODIES: Readonly<Record<string, string>> = {
  "POST /channels/{channel}/messages": "RESTPostAPIChannelMessageJSONBody",
  "PATCH /channels/{channel}/messages/{message}": "RESTPatchAPIChannelMessageJSONBody",
  "POST /channels/{channel}/threads": "RESTPostAPIChannelThreadsJSONBody",
  "POST /channels/{forum}/threads": "RESTPostAPIGuildForumThreadsJSONBody",
  "POST /applications/{application}/guilds/{guild}/commands":
    "RESTPostAPIApplicationGuildCommandsJSONBody",
  "POST /interactions/{interaction}/{token}/callback": "RESTPostAPIInteractionCallbackJSONBody",
  "PATCH /webhooks/{webhook}/{token}/messages/@original":
    "RESTPatchAPIInteractionOriginalResponseJSONBody",
};
const RUDA: ChannelAccount = { id: "ruda", agent: "ruda", displayName: "루다" };
const never = { signal: new AbortController().signal };

test(
  "every request with a body has the form of the platform's types, and no member more",
  FULL,
  async () => {
    await using stage = await aStage();
    await everythingIsAsked(stage);

    const bodies = stage.discord.requests.filter(
      ({ body }) => typeof body === "object" && body !== null && Object.keys(body).length > 0,
    );
    const held = bodies.map(({ method, route, path, body }): Held => {
      const isForum = path.includes(`/channels/${stage.forum.id}/threads`);
      const what = `${method} ${isForum ? "/channels/{forum}/threads" : route}`;
      return { what, type: `api.${BODIES[what] ?? "unknown"}`, value: body };
    });

    expect(new Set(held.map(({ what }) => what))).toEqual(new Set(Object.keys(BODIES)));
    expect(problemsOf(held, { package: "discord-api-types/v10", isExact: true })).toEqual([]);
  },
);

type Stage = Awaited<ReturnType<typeof aStage>>;

/** All that the adapter has a body for. */
async function everythingIsAsked({ adapter, discord, ...stage }: Stage): Promise<void> {
  const { general, news, forum, here, ruda, minsu } = stage;
  const asked = minsu.post(general, "물음");
  const mentions = [{ agent: "eden", platformId: minsu.id, displayName: "이든" }];
  const post: OutgoingPost = {
    account: RUDA,
    place: here,
    text: "<@eden> 답",
    mentions,
    key: "key-1",
    replyTo: asked.id,
    buttons: [{ value: "yes", label: "네" }],
  };

  const { platformId } = await adapter.post(post, never);
  await adapter.post({ account: RUDA, place: here, text: "말", mentions: [], key: "key-2" }, never);
  for (const [index, channel] of [general, news, forum].entries()) {
    const thread = {
      account: RUDA,
      channel: { ...here, channel: channel.id },
      name: "[협업] 루다 → 이든",
      key: `thread-${index}`,
      since: Date.now(),
    };
    await adapter.createThread(thread, never);
  }
  const button = discord.messages(general).find(({ id }) => id === platformId)!.buttons[0]!;
  await minsu.press(button);
  await minsu.command(ruda, general, "who");
  await adapter.edit({ ...post, text: "고친 답", buttons: [] }, platformId, never);
}

async function aStage() {
  const discord = await FakeDiscord.start({ identifyWindowMs: 1 });
  const guild = discord.addGuild();
  const general = discord.addChannel(guild, "general");
  const news = discord.addChannel(guild, "news", "announcement");
  const forum = discord.addChannel(guild, "forum", "forum");
  const ruda = discord.addBot({ name: "루다", token: "token-ruda" });
  const minsu = discord.addPerson("민수");
  const here: PlaceAddress = { adapter: "discord", guild: guild.id, channel: general.id };
  const adapter = new DiscordAdapter({ tokens: { ruda: "token-ruda" }, apiUrl: discord.url });
  const port = new RecordingPort(adapter);
  await adapter.start(port);
  void adapter.connect(RUDA, never);
  await eventually(() => {
    expect(port.stateOf("ruda")).toBe("ready");
    expect(discord.requests.some(({ route }) => route.endsWith("/commands"))).toBe(true);
  });
  return {
    ...{ discord, general, news, forum, ruda, minsu, here, adapter },
    [Symbol.asyncDispose]: async () => {
      await adapter.stop();
      await discord.stop();
    },
  };
}
