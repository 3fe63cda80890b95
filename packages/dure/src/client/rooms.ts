import type { FileRef } from "../kernel/files.ts";
import { fromWire } from "../kernel/wire.ts";
import { passed, queryOf, readJson, type CallOptions, type Http } from "./http.ts";
import type { Page } from "./resources.ts";
import type {
  AgentDetail,
  CollaborateAnswer,
  CollaborateRequest,
  FoundMessage,
  Room,
  RoomAgent,
  RoomMessage,
  Stopped,
  Thread,
} from "../wire/rooms.ts";

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
    options: CallOptions = {},
  ): Promise<Page<Room>> {
    return this.#http.get(`/v1/rooms${this.#query(page)}`, options);
  }

  /** The direct room with an agent; made when it is asked for. */
  direct(agent: string, options: CallOptions = {}): Promise<Room> {
    return this.#http.post("/v1/rooms", { agent, asPerson: this.#asPerson }, options);
  }

  /** Oldest first: the newest ones, or those around a `seq`; and the agents that are writing. */
  messages(
    place: string,
    range: { after?: number; before?: number; limit?: number } = {},
    options: CallOptions = {},
  ): Promise<{ readonly items: readonly RoomMessage[]; readonly typing: readonly string[] }> {
    return this.#http.get(
      `/v1/rooms/${encodeURIComponent(place)}/messages${this.#query(range)}`,
      options,
    );
  }

  message(id: string, options: CallOptions = {}): Promise<RoomMessage> {
    return this.#http.get(`/v1/messages/${encodeURIComponent(id)}${this.#query({})}`, options);
  }

  /** Gives an own message of a web room other words. */
  async edit(id: string, text: string, options: CallOptions = {}): Promise<RoomMessage> {
    const body = { text, asPerson: this.#asPerson };
    return this.#http.answer("PATCH", `/v1/messages/${encodeURIComponent(id)}`, body, options);
  }

  /** Takes an own message of a web room back; its words and files are gone. Again it does nothing. */
  async delete(id: string, options: CallOptions = {}): Promise<void> {
    const path = `/v1/messages/${encodeURIComponent(id)}${this.#query({})}`;
    await this.#http.request(path, { method: "DELETE", ...passed(options) });
  }

  /** Sets an emoji below a message of a web room, or takes the own one away (`isSet: false`). */
  react(
    id: string,
    emoji: string,
    { isSet = true, ...options }: CallOptions & { isSet?: boolean } = {},
  ): Promise<RoomMessage> {
    const path = `/v1/messages/${encodeURIComponent(id)}/reactions/${encodeURIComponent(emoji)}`;
    const method = isSet ? "PUT" : "DELETE";
    return this.#http.answer(method, `${path}${this.#query({})}`, undefined, options);
  }

  /**
   * Messages that say `search`, of all rooms that this person may see, the newest first. A page may
   * be empty and have a next one: the server reads so many messages at once.
   */
  search(
    search: string,
    filter: {
      /** Name of a person, or id of an agent. */
      author?: string | undefined;
      authorKind?: RoomMessage["authorKind"] | undefined;
      after?: number | undefined;
      before?: number | undefined;
      limit?: number | undefined;
      cursor?: string | undefined;
    } = {},
    options: CallOptions = {},
  ): Promise<Page<FoundMessage>> {
    return this.#http.get(`/v1/messages${this.#query({ search, ...filter })}`, options);
  }

  /**
   * Uploads files to a web room, for `files` of a message within 24 h. Again it is the same files.
   */
  async upload(
    place: string,
    files: readonly File[],
    options: CallOptions = {},
  ): Promise<readonly FileRef[]> {
    const body = new FormData();
    for (const file of files) body.append("file", file);
    const path = `/v1/rooms/${encodeURIComponent(place)}/files${this.#query({})}`;
    const init = { method: "POST", body, ...passed(options) };
    const answer = fromWire(await readJson(await this.#http.request(path, init)));
    return (answer as { readonly files: readonly FileRef[] }).files;
  }

  /** Gives the message's id. The same `clientId` again is harmless for 24 h. */
  async post(
    place: string,
    message: {
      text: string;
      clientId?: string | undefined;
      replyTo?: string | undefined;
      /** Ids of files that were uploaded to the place; the text may be empty. */
      files?: readonly string[] | undefined;
    },
    options: CallOptions = {},
  ): Promise<string> {
    return (await this.#post(place, message, options)).messageId;
  }

  /**
   * Says something in the thread below a message of a web room, and gives the thread's id as `place`.
   * The thread is made when it is not there; below a message of a thread, it is that thread.
   */
  postBelow(
    place: string,
    message: Parameters<RoomsClient["post"]>[1] & { below: string },
    options: CallOptions = {},
  ): Promise<{ messageId: string; place: string }> {
    return this.#post(place, message, options);
  }

  #post(
    place: string,
    message: object,
    options: CallOptions,
  ): Promise<{ messageId: string; place: string }> {
    const path = `/v1/rooms/${encodeURIComponent(place)}/messages`;
    return this.#http.post(path, { ...message, asPerson: this.#asPerson }, options);
  }

  async markRead(place: string, seq: number, options: CallOptions = {}): Promise<void> {
    await this.#write(`/v1/rooms/${encodeURIComponent(place)}/read`, { seq }, options);
  }

  /**
   * This person looks at a web room for the next 20 s, or writes there for 6 s; others read it in
   * `onPeople` of `DureClient.events`.
   */
  async bePresent(
    place: string,
    { typing = false, ...options }: CallOptions & { typing?: boolean } = {},
  ): Promise<void> {
    await this.#write(`/v1/rooms/${encodeURIComponent(place)}/presence`, { typing }, options);
  }

  /**
   * The liveliest first, 100 unless `limit` says another number (at most 500); `before`: the
   * `activeAt` of the last one of a page.
   */
  async threads(
    room: string,
    options: CallOptions & { before?: number; limit?: number } = {},
  ): Promise<readonly Thread[]> {
    const { before, limit, ...rest } = options;
    return (
      await this.#http.get<{ items: readonly Thread[] }>(
        `/v1/rooms/${encodeURIComponent(room)}/threads${this.#query({ before, limit })}`,
        rest,
      )
    ).items;
  }

  thread(id: string, options: CallOptions = {}): Promise<Thread> {
    return this.#http.get(`/v1/threads/${encodeURIComponent(id)}${this.#query({})}`, options);
  }

  /** Agents may speak there again. */
  async resume(place: string, options: CallOptions = {}): Promise<void> {
    await this.#write(`/v1/threads/${encodeURIComponent(place)}/resume`, {}, options);
  }

  async removeParticipant(thread: string, agent: string, options: CallOptions = {}): Promise<void> {
    await this.#http.request(
      `/v1/threads/${encodeURIComponent(thread)}/participants/${encodeURIComponent(agent)}${this.#query({})}`,
      { method: "DELETE", ...passed(options) },
    );
  }

  async agents(options: CallOptions = {}): Promise<readonly RoomAgent[]> {
    return (await this.#http.get<{ items: readonly RoomAgent[] }>("/v1/agents", options)).items;
  }

  /** One agent: models, tools, files, load, spend, what it answered last. */
  agent(id: string, options: CallOptions = {}): Promise<AgentDetail> {
    return this.#http.get(`/v1/agents/${encodeURIComponent(id)}${this.#query({})}`, options);
  }

  /** With `true` no new model call of the agent begins; with `false` it goes on. */
  async pause(agent: string, paused: boolean, options: CallOptions = {}): Promise<void> {
    const path = `/v1/agents/${encodeURIComponent(agent)}/pause`;
    await this.#write(path, { paused }, options);
  }

  /** Ends what runs in a room and its threads. */
  stopRoom(room: string, options: CallOptions = {}): Promise<Stopped> {
    return this.#http.post(
      `/v1/rooms/${encodeURIComponent(room)}/stop`,
      { asPerson: this.#asPerson },
      options,
    );
  }

  /**
   * Goes on with an answer whose model was away, by the value of its button; without one, agents
   * that wait for their models call them now.
   */
  async retry(place: string, answer?: string, options: CallOptions = {}): Promise<void> {
    const path = `/v1/rooms/${encodeURIComponent(place)}/retry`;
    await this.#write(path, { answer }, options);
  }

  /**
   * Answers what this person was asked in a room or thread, by the value of a button that is `for`
   * them: `<question>:<value>`.
   */
  async answer(place: string, button: string, options: CallOptions = {}): Promise<void> {
    const path = `/v1/rooms/${encodeURIComponent(place)}/answer`;
    const colon = button.indexOf(":");
    const body = { question: button.slice(0, colon), value: button.slice(colon + 1) };
    await this.#write(path, body, options);
  }

  /** Ends what runs in a thread. */
  stopThread(thread: string, options: CallOptions = {}): Promise<Stopped> {
    return this.#http.post(
      `/v1/threads/${encodeURIComponent(thread)}/stop`,
      { asPerson: this.#asPerson },
      options,
    );
  }

  collaborate(request: CollaborateRequest, options: CallOptions = {}): Promise<CollaborateAnswer> {
    return this.#http.post("/v1/collaborate", request, options);
  }

  #write(path: string, body: object, options: CallOptions): Promise<Response> {
    return this.#http.write("POST", path, { ...body, asPerson: this.#asPerson }, options);
  }

  #query(values: object): string {
    return queryOf({ ...values, asPerson: this.#asPerson });
  }
}
