// @module-tag slow
import { createHmac } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { createGoogleChatAdapter } from "@chat-adapter/gchat";
import { createGitHubAdapter } from "@chat-adapter/github";
import { createLinearAdapter } from "@chat-adapter/linear";
import { createWhatsAppAdapter } from "@chat-adapter/whatsapp";
import { expect, onTestFinished, test } from "vitest";
import { chatPlatform } from "../../src/channels/chat/chat.ts";
import type { ChatAdapter } from "../../src/channels/chat/chat-types.ts";
import { RecordingPort } from "../../src/channels/test-port.ts";
import type {
  ChannelAccount,
  ChannelAdapter,
  InboundMessage,
  PlaceAddress,
} from "../../src/rooms/channel-adapter.ts";
import { eventually } from "../until.ts";

/**
 * The other adapters of `chat` as they are published: each is made, hears one request in the form
 * that its platform documents, and posts once to a server that stands for the platform. They are not
 * held against `channelContract`.
 */

const account: ChannelAccount = { id: "ruda", agent: "ruda", displayName: "루다" };
const { signal } = new AbortController();
const QUIET = { debug() {}, info() {}, warn() {}, error() {}, child: () => QUIET };
const SECRET = "a-secret-of-the-platform";

interface Call {
  readonly method: string;
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
}

/** A server that keeps what is asked, and answers with `answer`. */
async function platform(
  answer: (call: Call) => object,
): Promise<{ url: string; calls: readonly Call[] }> {
  const calls: Call[] = [];
  const take = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    const text = Buffer.concat(pieces).toString();
    const body = text.startsWith("{") ? (JSON.parse(text) as Call["body"]) : {};
    const call = { method: request.method ?? "", path: request.url ?? "", body };
    calls.push(call);
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify(answer(call)));
  };
  const server = createServer((request, response) => void take(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });

  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, calls };
}

interface Stage {
  readonly adapter: ChannelAdapter;
  readonly port: RecordingPort;
  /** What was heard of a request; the adapter's answer has this status. */
  readonly hear: (request: Request, status?: number) => Promise<readonly InboundMessage[]>;
  readonly post: (place: PlaceAddress, text: string) => Promise<string>;
}

async function connected(name: string, make: () => ChatAdapter): Promise<Stage> {
  const kind = chatPlatform({ name, accounts: { ruda: make } });
  const adapter = await kind.open({
    database: undefined,
    environment: { discordTokens: {} },
    accounts: { ruda: "ruda" },
    channels: () => [],
  });
  const port = new RecordingPort(adapter);
  await adapter.start(port);
  onTestFinished(() => adapter.stop());
  void adapter.connect(account, { signal });
  await eventually(() => expect(port.stateOf("ruda")).toBe("ready"));

  return {
    adapter,
    port,
    hear: async (request, status = 200) => {
      expect((await adapter.webhook!(request, undefined)).status).toBe(status);
      return port.messages.map(({ message }) => message);
    },
    post: async (place, text) =>
      (await adapter.post({ account, place, text, mentions: [], key: "k" }, { signal })).platformId,
  };
}

function signed(header: string, body: object, given: { prefix?: string } = {}): Request {
  const text = JSON.stringify(body);
  const mac = createHmac("sha256", SECRET).update(text).digest("hex");
  const headers = {
    "content-type": "application/json",
    [header]: `${given.prefix ?? ""}${mac}`,
    "x-github-event": "issue_comment",
  };

  return new Request("https://dure.example/", { method: "POST", headers, body: text });
}

test("WhatsApp: a message is heard, a challenge answered, and an answer posted", async () => {
  const { url, calls } = await platform(() => ({ messages: [{ id: "wamid.2" }] }));
  const { adapter, hear, post } = await connected("whatsapp", () =>
    createWhatsAppAdapter({
      accessToken: "token",
      appSecret: SECRET,
      phoneNumberId: "100",
      verifyToken: "verify",
      userName: "ruda",
      apiUrl: url,
      logger: QUIET,
    }),
  );
  const value = {
    messaging_product: "whatsapp",
    metadata: { display_phone_number: "100", phone_number_id: "100" },
    contacts: [{ profile: { name: "민준" }, wa_id: "8210" }],
    messages: [
      {
        from: "8210",
        id: "wamid.1",
        timestamp: "1700000000",
        type: "text",
        text: { body: "안녕" },
      },
    ],
  };
  const change = { entry: [{ id: "1", changes: [{ field: "messages", value }] }] };
  const challenge = "?hub.mode=subscribe&hub.verify_token=verify&hub.challenge=42";

  const answered = await adapter.webhook!(new Request(`https://dure.example/${challenge}`), "ruda");
  const [message] = await hear(signed("x-hub-signature-256", change, { prefix: "sha256=" }));
  await hear(signed("x-hub-signature-256", change), 401);
  const platformId = await post(message!.place, "반가워요");

  expect(await answered.text()).toBe("42");
  expect(message).toMatchObject({
    text: "안녕",
    at: 1_700_000_000_000,
    author: { platformId: "8210", name: "민준", isBot: false },
    place: { adapter: "whatsapp", channel: "whatsapp:100:8210", direct: true },
  });
  expect(platformId).toBe("whatsapp:100:8210#wamid.2");
  expect(calls.at(-1)).toMatchObject({ body: { to: "8210", text: { body: "반가워요" } } });
  expect(adapter).not.toHaveProperty("edit");
  expect(adapter).not.toHaveProperty("remove");
});

test("GitHub: a comment is heard in the thread of its issue, and answered there", async () => {
  const { url, calls } = await platform(({ path }) =>
    path === "/user"
      ? { id: 9, login: "ruda-bot" }
      : { id: 78, user: { id: 9, login: "ruda-bot", type: "User" }, body: "네" },
  );
  const { hear, post } = await connected("github", () =>
    createGitHubAdapter({
      token: "token",
      webhookSecret: SECRET,
      userName: "ruda-bot",
      apiUrl: url,
      logger: QUIET,
    }),
  );
  const minjun = { id: 5, login: "minjun", type: "User" };
  const comment = {
    action: "created",
    comment: {
      id: 77,
      body: "@ruda-bot 봐 줘",
      user: minjun,
      created_at: "2026-01-02T03:04:05Z",
      updated_at: "2026-01-02T03:04:05Z",
      html_url: "https://github.com/dure/team/issues/3#issuecomment-77",
    },
    issue: { number: 3, title: "로그인" },
    repository: {
      id: 1,
      name: "team",
      full_name: "dure/team",
      owner: { id: 2, login: "dure", type: "User" },
    },
    sender: minjun,
  };

  const [message] = await hear(signed("x-hub-signature-256", comment, { prefix: "sha256=" }));
  const platformId = await post(message!.place, "네");

  expect(message).toMatchObject({
    text: "<@9> 봐 줘",
    author: { platformId: "5", name: "minjun", isBot: false },
    place: { channel: "github:dure/team", thread: "github:dure/team:issue:3" },
  });
  expect(platformId).toBe("github:dure/team#78");
  expect(calls.at(-1)).toMatchObject({
    method: "POST",
    path: "/repos/dure/team/issues/3/comments",
    body: { body: expect.stringContaining("네") },
  });
});

test("Linear: a comment is heard in the thread below it, and answered there", async () => {
  const comment = {
    id: "comment2",
    body: "네",
    createdAt: "2026-01-02T03:04:06Z",
    updatedAt: "2026-01-02T03:04:06Z",
    reactions: [],
    url: "https://linear.app/",
  };
  const { url, calls } = await platform(({ body }) => {
    const query = String(body["query"]);
    const organization = { id: "org" };
    if (query.includes("viewer")) {
      return { data: { viewer: { id: "bot-1", displayName: "ruda", organization } } };
    }
    if (query.includes("commentCreate")) {
      const commentCreate = { lastSyncId: 1, success: true, comment: { id: "comment2" } };
      return { data: { commentCreate } };
    }
    return { data: { comment } };
  });
  const { hear, post } = await connected("linear", () =>
    createLinearAdapter({
      apiKey: "key",
      webhookSecret: SECRET,
      userName: "ruda",
      apiUrl: url,
      logger: QUIET,
    }),
  );
  const event = {
    type: "Comment",
    action: "create",
    organizationId: "org",
    createdAt: "2026-01-02T03:04:05Z",
    webhookTimestamp: Date.now(),
    webhookId: "hook",
    url: "https://linear.app/",
    data: {
      id: "comment1",
      body: "@ruda 봐 줘",
      issueId: "issue1",
      createdAt: "2026-01-02T03:04:05Z",
      updatedAt: "2026-01-02T03:04:05Z",
      user: {
        id: "minjun",
        name: "김민준",
        email: "m@example.com",
        url: "https://linear.app/dure/profiles/minjun",
      },
    },
  };

  const [message] = await hear(signed("linear-signature", event));
  const platformId = await post(message!.place, "네");

  expect(message).toMatchObject({
    text: "<@bot1> 봐 줘",
    author: { platformId: "minjun", name: "김민준", isBot: false },
    place: { channel: "linear", thread: "linear:issue1:c:comment1" },
  });
  expect(platformId).toBe("linear#comment2");
  expect(calls.some(({ body }) => JSON.stringify(body).includes('"parentId":"comment1"'))).toBe(
    true,
  );
});

test("Google Chat: a message is heard in its thread, and answered there", async () => {
  const { url, calls } = await platform(() => ({
    name: "spaces/S1/messages/M2",
    thread: { name: "spaces/S1/threads/T1" },
  }));
  const { hear, post } = await connected("gchat", () =>
    createGoogleChatAdapter({
      auth: "an-api-key" as never, // what the client of Google takes as well: no token is asked for
      disableSignatureVerification: true, // a token is signed by Google
      botUserId: "users/7",
      userName: "ruda",
      apiUrl: `${url}/`,
      logger: QUIET,
    }),
  );
  const space = { name: "spaces/S1", type: "ROOM", spaceType: "SPACE" };
  const sender = { name: "users/5", displayName: "민준", type: "HUMAN" };
  const event = {
    chat: {
      eventTime: "2026-01-02T03:04:05Z",
      user: sender,
      messagePayload: {
        space,
        message: {
          name: "spaces/S1/messages/M1",
          sender,
          text: "안녕",
          createTime: "2026-01-02T03:04:05Z",
          thread: { name: "spaces/S1/threads/T1" },
          space,
        },
      },
    },
  };

  const [message] = await hear(signed("x-none", event));
  const platformId = await post(message!.place, "반가워요");

  expect(message).toMatchObject({
    text: "안녕",
    author: { platformId: "users/5", name: "민준", isBot: false },
    place: { channel: "gchat:spaces/S1" },
  });
  expect(message!.place.thread).toMatch(/^gchat:spaces\/S1:/u);
  expect(platformId).toBe("gchat:spaces/S1#spaces/S1/messages/M2");
  expect(calls.at(-1)).toMatchObject({
    method: "POST",
    body: { text: "반가워요", thread: { name: "spaces/S1/threads/T1" } },
  });
});
