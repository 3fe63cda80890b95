import type { FileRef } from "../kernel/files.ts";
import { fromWire, toWire } from "../kernel/wire.ts";
import { readJson, type Http } from "./http.ts";
import type { Page } from "./resources.ts";
import type {
  AgentDetail,
  CollaborateAnswer,
  CollaborateRequest,
  Room,
  RoomAgent,
  RoomMessage,
  Stopped,
  Thread,
} from "../wire/rooms.ts";

interface Options {
  readonly signal?: AbortSignal | undefined;
}

/**
 * Rooms over HTTP, in the name of one person. What happens is told by
 * `DureClient.events({types: ["room.*"]})`.
 */
export class RoomsClient {
  readonly #http: Http;
  /** Name to speak under; needed where the server asks for no token. */
  readonly #asPerson: string | undefined;

  constructor(http: Http, asPerson: string | undefined) {
    this.#http = http;
    this.#asPerson = asPerson;
  }

  /** Channels, then the direct rooms; 50 unless `limit` says another number (at most 200). */
  list(
    page: { limit?: number | undefined; cursor?: string | undefined } = {},
    options: Options = {},
  ): Promise<Page<Room>> {
    return this.#get(`/v1/rooms${this.#query(page)}`, options);
  }

  /** The direct room with an agent; made when it is asked for. */
  direct(agent: string, options: Options = {}): Promise<Room> {
    return this.#send("/v1/rooms", { agent }, options);
  }

  /** Oldest first: the newest ones, or those around a `seq`; and the agents that are writing. */
  messages(
    place: string,
    range: { after?: number; before?: number; limit?: number } = {},
    options: Options = {},
  ): Promise<{ readonly items: readonly RoomMessage[]; readonly typing: readonly string[] }> {
    return this.#get(
      `/v1/rooms/${encodeURIComponent(place)}/messages${this.#query(range)}`,
      options,
    );
  }

  message(id: string, options: Options = {}): Promise<RoomMessage> {
    return this.#get(`/v1/messages/${encodeURIComponent(id)}${this.#query({})}`, options);
  }

  /**
   * Uploads files to a web room, for `files` of a message within 24 h. Again it is the same files.
   */
  async upload(
    place: string,
    files: readonly File[],
    options: Options = {},
  ): Promise<readonly FileRef[]> {
    const body = new FormData();
    for (const file of files) body.append("file", file);
    const path = `/v1/rooms/${encodeURIComponent(place)}/files${this.#query({})}`;
    const init = { method: "POST", body, ...pass(options) };
    const answer = fromWire(await readJson(await this.#http.request(path, init)));
    return (answer as { readonly files: readonly FileRef[] }).files;
  }

  /** The same `clientId` again is harmless for 24 h. */
  async post(
    place: string,
    message: {
      text: string;
      clientId?: string | undefined;
      replyTo?: string | undefined;
      /** Ids of files that were uploaded to the place; the text may be empty. */
      files?: readonly string[] | undefined;
    },
    options: Options = {},
  ): Promise<string> {
    return (
      await this.#send<{ messageId: string }>(
        `/v1/rooms/${encodeURIComponent(place)}/messages`,
        message,
        options,
      )
    ).messageId;
  }

  async markRead(place: string, seq: number, options: Options = {}): Promise<void> {
    await this.#request(`/v1/rooms/${encodeURIComponent(place)}/read`, "POST", { seq }, options);
  }

  /**
   * The liveliest first, 100 unless `limit` says another number (at most 500); `before`: the
   * `activeAt` of the last one of a page.
   */
  async threads(
    room: string,
    options: Options & { before?: number; limit?: number } = {},
  ): Promise<readonly Thread[]> {
    const { before, limit, ...rest } = options;
    return (
      await this.#get<{ items: readonly Thread[] }>(
        `/v1/rooms/${encodeURIComponent(room)}/threads${this.#query({ before, limit })}`,
        rest,
      )
    ).items;
  }

  thread(id: string, options: Options = {}): Promise<Thread> {
    return this.#get(`/v1/threads/${encodeURIComponent(id)}${this.#query({})}`, options);
  }

  /** Agents may speak there again. */
  async resume(place: string, options: Options = {}): Promise<void> {
    await this.#request(`/v1/threads/${encodeURIComponent(place)}/resume`, "POST", {}, options);
  }

  async removeParticipant(thread: string, agent: string, options: Options = {}): Promise<void> {
    await this.#http.request(
      `/v1/threads/${encodeURIComponent(thread)}/participants/${encodeURIComponent(agent)}${this.#query({})}`,
      { method: "DELETE", ...pass(options) },
    );
  }

  async agents(options: Options = {}): Promise<readonly RoomAgent[]> {
    return (await this.#get<{ items: readonly RoomAgent[] }>("/v1/agents", options)).items;
  }

  /** One agent: models, tools, files, load, spend, what it answered last. */
  agent(id: string, options: Options = {}): Promise<AgentDetail> {
    return this.#get(`/v1/agents/${encodeURIComponent(id)}${this.#query({})}`, options);
  }

  /** With `true` no new model call of the agent begins; with `false` it goes on. */
  async pause(agent: string, paused: boolean, options: Options = {}): Promise<void> {
    const path = `/v1/agents/${encodeURIComponent(agent)}/pause`;
    await this.#request(path, "POST", { paused }, options);
  }

  /** Ends what runs in a room and its threads. */
  stopRoom(room: string, options: Options = {}): Promise<Stopped> {
    return this.#send(`/v1/rooms/${encodeURIComponent(room)}/stop`, {}, options);
  }

  /**
   * Goes on with an answer whose model was away, by the value of its button; without one, agents
   * that wait for their models call them now.
   */
  async retry(place: string, answer?: string, options: Options = {}): Promise<void> {
    const path = `/v1/rooms/${encodeURIComponent(place)}/retry`;
    await this.#request(path, "POST", { answer }, options);
  }

  /**
   * Answers what this person was asked in a room or thread, by the value of a button that is `for`
   * them: `<question>:<value>`.
   */
  async answer(place: string, button: string, options: Options = {}): Promise<void> {
    const path = `/v1/rooms/${encodeURIComponent(place)}/answer`;
    const colon = button.indexOf(":");
    const body = { question: button.slice(0, colon), value: button.slice(colon + 1) };
    await this.#request(path, "POST", body, options);
  }

  /** Ends what runs in a thread. */
  stopThread(thread: string, options: Options = {}): Promise<Stopped> {
    return this.#send(`/v1/threads/${encodeURIComponent(thread)}/stop`, {}, options);
  }

  async collaborate(
    request: CollaborateRequest,
    options: Options = {},
  ): Promise<CollaborateAnswer> {
    const init = {
      method: "POST",
      headers: JSON_HEADERS,
      body: JSON.stringify(toWire(request)),
      ...pass(options),
    };

    return fromWire(
      await readJson(await this.#http.request("/v1/collaborate", init)),
    ) as CollaborateAnswer;
  }

  async #get<Answer>(path: string, options: Options): Promise<Answer> {
    return fromWire(await readJson(await this.#http.request(path, pass(options)))) as Answer;
  }

  async #send<Answer>(path: string, body: object, options: Options): Promise<Answer> {
    return fromWire(await readJson(await this.#request(path, "POST", body, options))) as Answer;
  }

  #request(path: string, method: string, body: object, options: Options): Promise<Response> {
    const whole = this.#asPerson === undefined ? body : { ...body, asPerson: this.#asPerson };
    return this.#http.request(path, {
      method,
      headers: JSON_HEADERS,
      body: JSON.stringify(toWire(whole)),
      ...pass(options),
    });
  }

  #query(values: Readonly<Record<string, string | number | undefined>>): string {
    const given: Readonly<Record<string, string | number | undefined>> = {
      ...values,
      as_person: this.#asPerson,
    };

    const set = Object.entries(given).filter(
      (entry): entry is [string, string | number] => entry[1] !== undefined,
    );

    return set.length === 0
      ? ""
      : `?${new URLSearchParams(set.map(([key, value]) => [key, String(value)])).toString()}`;
  }
}

const JSON_HEADERS = { "content-type": "application/json" };

function pass({ signal }: Options): RequestInit {
  return signal === undefined ? {} : { signal };
}
