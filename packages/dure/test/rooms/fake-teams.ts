import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { FailureOfPlatform } from "./channel-contract.ts";

/** An activity as the connector keeps it. Source: Bot Framework, "Activity". */
export interface FakeTeamsActivity {
  readonly id: string;
  readonly conversation: string;
  text: string;
  readonly attachments: readonly { readonly contentType: string; readonly content: unknown }[];
}

/** A conversation: a group chat, a channel of a team, or a chat of two. */
export interface FakeTeamsConversation {
  readonly id: string;
  readonly type: "groupChat" | "channel" | "personal";
}

interface Fault {
  /** Undefined: it never answers. */
  readonly status: number | undefined;
  readonly afterDoing: boolean;
}

const STATUSES: Readonly<Record<FailureOfPlatform, number | undefined>> = {
  permission: 403,
  "not-found": 404,
  "rate-limited": 429,
  unavailable: 429,
  credential: 401,
  full: 413,
  transient: 502,
  hang: undefined,
};

/**
 * The connector of Microsoft Teams: where bots post, and what it posts to them. Source:
 * learn.microsoft.com/azure/bot-service/rest-api/bot-framework-rest-connector-api-reference.
 */
export class FakeTeams {
  readonly activities: FakeTeamsActivity[] = [];
  /** Tokens that requests of bots had. */
  readonly tokens = new Set<string>();
  readonly typing: string[] = [];
  readonly #server: Server;
  readonly #faults: Fault[] = [];
  readonly #bots: { readonly appId: string; readonly take: (r: Request) => Promise<Response> }[] =
    [];
  #ids = 1_700_000_000_000;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async start(): Promise<FakeTeams> {
    const server = createServer();
    const teams = new FakeTeams(server);
    server.on("request", (request, response) => void teams.#serve(request, response));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));

    return teams;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** What is said is posted there. */
  addBot(appId: string, take: (request: Request) => Promise<Response>): void {
    this.#bots.push({ appId, take });
  }

  /** A person's message, posted to each bot; gives its id and what was answered. */
  async say(
    { id, type }: FakeTeamsConversation,
    text: string,
    given: Readonly<Record<string, unknown>> = {},
  ): Promise<{ id: string; statuses: readonly number[] }> {
    const said = this.#add({ conversation: { id }, text });
    const statuses = await this.post({
      type: "message",
      id: said.id,
      timestamp: new Date().toISOString(),
      serviceUrl: this.url,
      channelId: "msteams",
      from: { id: "29:minjun", name: "민준" },
      conversation: { id, conversationType: type, tenantId: "tenant" },
      text,
      ...given,
    });

    return { id: said.id, statuses };
  }

  /** An activity, posted to each bot. */
  async post(activity: Readonly<Record<string, unknown>>): Promise<readonly number[]> {
    const answers = this.#bots.map(async ({ appId, take }) => {
      const headers = { "content-type": "application/json", authorization: "Bearer signed" };
      const body = JSON.stringify({ recipient: { id: `28:${appId}`, name: "bot" }, ...activity });
      const request = new Request("https://dure.example/", { method: "POST", headers, body });
      return (await take(request)).status;
    });

    return Promise.all(answers);
  }

  shown(conversation: string): readonly string[] {
    return this.activities
      .filter((one) => one.conversation === conversation)
      .map(({ text }) => text);
  }

  fail(failure: FailureOfPlatform, { afterDoing = false }: { afterDoing?: boolean } = {}): void {
    this.#faults.push({ status: STATUSES[failure], afterDoing });
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    this.tokens.add(request.headers.authorization ?? "");
    const path = decodeURIComponent((request.url ?? "").split("?")[0] ?? "");
    const [, conversation = "", id] =
      /^\/v3\/conversations\/(.+?)\/activities(?:\/(.+))?$/u.exec(path) ?? [];
    if (conversation === "") return void response.writeHead(404).end();
    const text = Buffer.concat(pieces).toString();
    const activity = text === "" ? {} : (JSON.parse(text) as Readonly<Record<string, unknown>>);
    if (activity["type"] === "typing") {
      this.typing.push(conversation);
      return answer(response, 200, { id: "" });
    }
    const fault = request.method === "POST" ? this.#faults.shift() : undefined;
    if (fault && fault.status === undefined) return;
    if (fault && !fault.afterDoing) return answer(response, fault.status!, { error: {} });
    const done = this.#carryOut(request.method ?? "", { conversation, id, activity });
    if (fault) return answer(response, fault.status!, { error: {} });
    answer(response, done === undefined ? 404 : 200, { id: done });
  }

  /** The id of the activity; undefined: there is none. */
  #carryOut(
    method: string,
    given: {
      conversation: string;
      id: string | undefined;
      activity: Readonly<Record<string, unknown>>;
    },
  ): string | undefined {
    const { conversation, id, activity } = given;
    if (method === "POST") return this.#add({ ...activity, conversation: { id: conversation } }).id;
    const at = this.activities.findIndex((one) => one.id === id);
    if (at < 0) return undefined;
    if (method === "DELETE") this.activities.splice(at, 1);
    else this.activities[at]!.text = String(activity["text"]);

    return id;
  }

  #add(given: Readonly<Record<string, unknown>>): FakeTeamsActivity {
    this.#ids += 1;
    const activity: FakeTeamsActivity = {
      id: String(this.#ids),
      conversation: (given["conversation"] as { id: string }).id,
      text: typeof given["text"] === "string" ? given["text"] : "",
      attachments: (given["attachments"] ?? []) as FakeTeamsActivity["attachments"],
    };
    this.activities.push(activity);

    return activity;
  }
}

function answer(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}
