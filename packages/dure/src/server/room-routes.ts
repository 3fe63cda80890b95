import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import type { FastifyRequest } from "fastify";
import type { z } from "zod";
import { DureError } from "../kernel/errors.ts";
import { shownMessage, type StoredMessage } from "../rooms/room-store.ts";
import type { RoomPerson } from "../rooms/look/room-person.ts";
import type { Rooms } from "../rooms/rooms.ts";
import { assertOfAllTenants, hasScope } from "./access.ts";
import { refuseDeed } from "./audit.ts";
import { callerOf } from "./guard.ts";
import { problems } from "./schemas.ts";
import type { RouteApp, ServerParts } from "./server.ts";
import { viewOf } from "./tenants.ts";
import { onWire } from "../kernel/wire.ts";
import { onlyDefined } from "../kernel/json.ts";
import type { AgentJson, FoundMessageJson, RoomJson } from "../wire/rooms.ts";
import { NOTHING } from "../wire/shared.ts";
import {
  AgentParams,
  AgentsAnswer,
  AnswerBody,
  AsPerson,
  CollaborateBody,
  CollaborateJson,
  DirectBody,
  FoundMessagesAnswer,
  MessageJson,
  MessagesAnswer,
  MessageSearchQuery,
  MessagesQuery,
  ObservationsAnswer,
  ObservationsQuery,
  ParticipantParams,
  PauseBody,
  PlaceJson,
  PlaceParams,
  EditBody,
  ReactionParams,
  PostBody,
  PostedAnswer,
  PresenceBody,
  ReadBody,
  ResumedAnswer,
  RetryBody,
  RoomParams,
  RoomsAnswer,
  RoomsQuery,
  StoppedAnswer,
  ThreadJson,
  ThreadsAnswer,
  ThreadsQuery,
} from "../wire/rooms.ts";

function paused({ body, params }: FastifyRequest): { what: string; subject: string } {
  return {
    what: (body as z.infer<typeof PauseBody>).paused ? "agent.pause" : "agent.resume",
    subject: (params as { agent: string }).agent,
  };
}

function answered({ body }: FastifyRequest): { what: string; subject: string } {
  const { question, value } = body as z.infer<typeof AnswerBody>;
  return { what: `escalation.${value}`, subject: question };
}

function handedOn({ body }: FastifyRequest): { what: string; subject: string } {
  const { agent, target_agent } = body as z.infer<typeof CollaborateBody>;
  return { what: "collaborate", subject: `${agent}→${target_agent}` };
}

/** A body with a text of 100,000 characters, each written as \uXXXX, and the rest of it. */
const POST_BYTES = 640 * 1024;

const config = { scope: "rooms" as const };
const said = { ...config, audit: false as const }; // the room keeps it

/** Rooms, threads, messages, agents. Source: docs/spec/collaboration §9. */
export const roomRoutes: FastifyPluginAsyncZod<ServerParts> = async (app, { rooms }) => {
  if (!rooms) return;

  listRooms(app, rooms);
  openDirectRoom(app, rooms);
  readMessages(app, rooms);
  postMessage(app, rooms);
  markRead(app, rooms);
  showPresence(app, rooms);
  searchMessages(app, rooms);
  readMessage(app, rooms);
  editMessage(app, rooms);
  deleteMessage(app, rooms);
  reactToMessage(app, rooms);
  listThreads(app, rooms);
  readThread(app, rooms);
  resumeThread(app, rooms);
  stopRoom(app, rooms);
  retryRoom(app, rooms);
  answerRoom(app, rooms);
  stopThread(app, rooms);
  removeParticipant(app, rooms);
  listObservations(app, rooms);
  listAgents(app, rooms);
  pauseAgent(app, rooms);
  collaborate(app, rooms);
};

function listRooms(app: RouteApp, rooms: Rooms): void {
  app.get(
    "/v1/rooms",
    {
      config,
      schema: {
        tags: ["rooms"],
        summary: "Channels, then the caller's direct rooms, page by page",
        querystring: RoomsQuery,
        response: {
          200: RoomsAnswer,
          ...problems(400, 401, 403),
        },
      },
    },
    async (request) => {
      const { limit, cursor, as_person } = request.query;
      const { items, nextCursor } = await rooms.list(personOf(request, rooms, as_person), {
        limit,
        cursor,
      });

      return {
        items: items.map((room) => onWire<z.output<typeof RoomJson>>(room)),
        next_cursor: nextCursor,
      };
    },
  );
}

function openDirectRoom(app: RouteApp, rooms: Rooms): void {
  app.post(
    "/v1/rooms",
    {
      config: said,
      schema: {
        tags: ["rooms"],
        summary: "Opens the direct room with an agent",
        body: DirectBody,
        response: { 200: PlaceJson, ...problems(400, 401, 403, 404) },
      },
    },
    async (request) => {
      const { agent, as_person } = request.body;
      const room = await rooms.direct(speakerOf(request, rooms, as_person), agent);

      return onWire<z.output<typeof PlaceJson>>(room);
    },
  );
}

function readMessages(app: RouteApp, rooms: Rooms): void {
  app.get(
    "/v1/rooms/:room/messages",
    {
      config,
      schema: {
        tags: ["rooms"],
        summary: "What was said in a room or thread, oldest first",
        params: RoomParams,
        querystring: MessagesQuery,
        response: {
          200: MessagesAnswer,
          ...problems(400, 401, 403, 404),
        },
      },
    },
    async (request) => {
      const { thread, after, before, limit, as_person } = request.query;
      const who = personOf(request, rooms, as_person);
      const place = await rooms.place(thread ?? request.params.room, who);
      const items = await rooms.reader.messages(place.id, onlyDefined({ after, before, limit }));

      return {
        items: await shown(rooms, items, who),
        typing: [...(await rooms.reader.typing(place.id))],
      };
    },
  );
}

function postMessage(app: RouteApp, rooms: Rooms): void {
  app.post(
    "/v1/rooms/:room/messages",
    {
      config: said,
      bodyLimit: POST_BYTES,
      schema: {
        tags: ["rooms"],
        summary: "Says something in a web room",
        params: RoomParams,
        body: PostBody,
        response: {
          202: PostedAnswer,
          ...problems(400, 401, 403, 404, 409, 413),
        },
      },
    },
    async (request, reply) => {
      const { text, thread_id, client_id, reply_to, below, files, as_person } = request.body;
      const who = speakerOf(request, rooms, as_person);
      const place = thread_id ?? request.params.room;
      const options = onlyDefined({ clientId: client_id, replyTo: reply_to, below, files });
      const posted = await rooms.post(who, { place, text, ...options });

      return reply.code(202).send({ message_id: posted.messageId, place: posted.place });
    },
  );
}

function markRead(app: RouteApp, rooms: Rooms): void {
  app.post(
    "/v1/rooms/:room/read",
    {
      config: said,
      schema: {
        tags: ["rooms"],
        summary: "Marks a room or thread as read up to a message",
        params: RoomParams,
        body: ReadBody,
        response: {
          204: NOTHING,
          ...problems(400, 401, 403, 404),
        },
      },
    },
    async (request, reply) => {
      const who = speakerOf(request, rooms, request.body.as_person);
      const { id } = await rooms.place(request.params.room, who);
      await rooms.reader.read(who, id, request.body.seq);

      return reply.code(204).send(null);
    },
  );
}

function showPresence(app: RouteApp, rooms: Rooms): void {
  app.post(
    "/v1/rooms/:room/presence",
    {
      config: said,
      schema: {
        tags: ["rooms"],
        summary: "The person looks at a web room or thread for the next 20 s, or writes there",
        params: RoomParams,
        body: PresenceBody,
        response: {
          204: NOTHING,
          ...problems(400, 401, 403, 404, 409),
        },
      },
    },
    async (request, reply) => {
      const { as_person, typing = false } = request.body;
      const who = speakerOf(request, rooms, as_person);
      await rooms.visit(who, { place: request.params.room, writes: typing });

      return reply.code(204).send(null);
    },
  );
}

function searchMessages(app: RouteApp, rooms: Rooms): void {
  app.get(
    "/v1/messages",
    {
      config,
      schema: {
        tags: ["rooms"],
        summary: "Messages that say something, of all that the caller may see, the newest first",
        querystring: MessageSearchQuery,
        response: { 200: FoundMessagesAnswer, ...problems(400, 401, 403) },
      },
    },
    async (request) => {
      const { search, author_kind, as_person, ...filter } = request.query;
      const query = { ...filter, text: search, authorKind: author_kind };
      const who = personOf(request, rooms, as_person);
      const { items, nextCursor } = await rooms.reader.search(query, who);

      return {
        items: items.map((item) => onWire<z.output<typeof FoundMessageJson>>(item)),
        next_cursor: nextCursor,
      };
    },
  );
}

function readMessage(app: RouteApp, rooms: Rooms): void {
  app.get(
    "/v1/messages/:id",
    {
      config,
      schema: {
        tags: ["rooms"],
        summary: "One message, and who did what with it and why",
        params: PlaceParams,
        querystring: AsPerson,
        response: { 200: MessageJson, ...problems(400, 401, 403, 404) },
      },
    },
    async (request) => {
      const who = personOf(request, rooms, request.query.as_person);
      return shownOne(rooms, await rooms.message(request.params.id, who), who);
    },
  );
}

function editMessage(app: RouteApp, rooms: Rooms): void {
  app.patch(
    "/v1/messages/:id",
    {
      config: said,
      bodyLimit: POST_BYTES,
      schema: {
        tags: ["rooms"],
        summary: "Gives an own message of a web room other words",
        params: PlaceParams,
        body: EditBody,
        response: { 200: MessageJson, ...problems(400, 401, 403, 404, 409, 413) },
      },
    },
    async (request) => {
      const { text, as_person } = request.body;
      const who = speakerOf(request, rooms, as_person);

      return shownOne(rooms, await rooms.own.edit(request.params.id, who, text), who);
    },
  );
}

function reactToMessage(app: RouteApp, rooms: Rooms): void {
  for (const [method, isSet] of [
    ["put", true],
    ["delete", false],
  ] as const) {
    app[method](
      "/v1/messages/:id/reactions/:emoji",
      {
        config: said,
        schema: {
          tags: ["rooms"],
          summary: isSet
            ? "Sets an emoji below a message of a web room"
            : "Takes the own emoji below a message away",
          params: ReactionParams,
          querystring: AsPerson,
          response: { 200: MessageJson, ...problems(400, 401, 403, 404, 409) },
        },
      },
      async (request) => {
        const { id, emoji } = request.params;
        const who = speakerOf(request, rooms, request.query.as_person);

        return shownOne(rooms, await rooms.own.react(id, who, { emoji, isSet }), who);
      },
    );
  }
}

async function shown(
  rooms: Rooms,
  messages: readonly StoredMessage[],
  who: RoomPerson,
): Promise<z.output<typeof MessageJson>[]> {
  const ids = messages.map(({ id }) => id);
  const below = ids.length > 0 ? await rooms.reader.below(ids, who) : new Map();

  return messages.map((message) => onWire(shownMessage(message, below.get(message.id))));
}

async function shownOne(
  rooms: Rooms,
  message: StoredMessage,
  who: RoomPerson,
): Promise<z.output<typeof MessageJson>> {
  const [one] = await shown(rooms, [message], who);

  return one!;
}

function deleteMessage(app: RouteApp, rooms: Rooms): void {
  app.delete(
    "/v1/messages/:id",
    {
      config: said,
      schema: {
        tags: ["rooms"],
        summary: "Takes an own message of a web room back: its words and files are gone",
        params: PlaceParams,
        querystring: AsPerson,
        response: { 204: NOTHING, ...problems(400, 401, 403, 404, 409) },
      },
    },
    async (request, reply) => {
      const who = speakerOf(request, rooms, request.query.as_person);
      await rooms.own.delete(request.params.id, who);

      return reply.code(204).send(null);
    },
  );
}

function listThreads(app: RouteApp, rooms: Rooms): void {
  app.get(
    "/v1/rooms/:room/threads",
    {
      config,
      schema: {
        tags: ["rooms"],
        summary: "Threads of a room, the liveliest first",
        params: RoomParams,
        querystring: ThreadsQuery,
        response: { 200: ThreadsAnswer, ...problems(400, 401, 403, 404) },
      },
    },
    async (request) => {
      const { before, limit, as_person } = request.query;
      const who = personOf(request, rooms, as_person);
      const { id } = await rooms.place(request.params.room, who);
      const threads = await rooms.reader.threads(id, who, onlyDefined({ before, limit }));

      return { items: threads.map((thread) => onWire<z.output<typeof ThreadJson>>(thread)) };
    },
  );
}

function readThread(app: RouteApp, rooms: Rooms): void {
  app.get(
    "/v1/threads/:id",
    {
      config,
      schema: {
        tags: ["rooms"],
        summary: "A thread: who takes part, and whether agents may speak",
        params: PlaceParams,
        querystring: AsPerson,
        response: { 200: ThreadJson, ...problems(400, 401, 403, 404) },
      },
    },
    async (request) => {
      const who = personOf(request, rooms, request.query.as_person);
      const { id } = await rooms.place(request.params.id, who);
      const thread = await rooms.reader.thread(id, who);

      if (!thread) {
        throw new DureError("THREAD_UNKNOWN", `${request.params.id} is no thread.`, {
          class: "not-found",
          hint: "Threads are listed at /v1/rooms/{room}/threads.",
        });
      }

      return onWire<z.output<typeof ThreadJson>>(thread);
    },
  );
}

function resumeThread(app: RouteApp, rooms: Rooms): void {
  app.post(
    "/v1/threads/:id/resume",
    {
      config: { ...config, audit: "thread.resume" },
      schema: {
        tags: ["rooms"],
        summary: "Lifts what a guard has stopped, in a thread or a room",
        params: PlaceParams,
        body: AsPerson.optional(),
        response: { 200: ResumedAnswer, ...problems(400, 401, 403, 404, 409) },
      },
    },
    async (request) => {
      const who = personOf(request, rooms, request.body?.as_person);
      return rooms.resume(request.params.id, {
        ...who,
        person: who.person === "" ? callerOf(request).name : who.person,
      });
    },
  );
}

function stopRoom(app: RouteApp, rooms: Rooms): void {
  app.post(
    "/v1/rooms/:room/stop",
    {
      config: { ...config, audit: "room.stop" },
      schema: {
        tags: ["rooms"],
        summary: "Ends what runs in a room and its threads: answers, requests, jobs",
        params: RoomParams,
        body: AsPerson.optional(),
        response: { 200: StoppedAnswer, ...problems(400, 401, 403, 404) },
      },
    },
    async (request) => {
      const who = personOf(request, rooms, request.body?.as_person);
      return rooms.stopIn(request.params.room, who);
    },
  );
}

function retryRoom(app: RouteApp, rooms: Rooms): void {
  app.post(
    "/v1/rooms/:room/retry",
    {
      config: { ...config, audit: "room.retry" },
      schema: {
        tags: ["rooms"],
        summary: "Goes on with an answer whose model was away, or calls models that are away now",
        params: RoomParams,
        body: RetryBody.optional(),
        response: { 204: NOTHING, ...problems(400, 401, 403, 404, 409) },
      },
    },
    async (request, reply) => {
      const { as_person, answer } = request.body ?? {};
      await rooms.retryIn(request.params.room, personOf(request, rooms, as_person), answer);
      return reply.code(204).send(null);
    },
  );
}

function answerRoom(app: RouteApp, rooms: Rooms): void {
  app.post(
    "/v1/rooms/:room/answer",
    {
      config: { ...config, audit: answered },
      schema: {
        tags: ["rooms"],
        summary: "Answers what the person was asked in a room or thread: a call that needs a yes",
        params: RoomParams,
        body: AnswerBody,
        response: { 204: NOTHING, ...problems(400, 401, 403, 404, 409) },
      },
    },
    async (request, reply) => {
      const { as_person, question, value } = request.body;
      const who = speakerOf(request, rooms, as_person);
      await rooms.answerIn(request.params.room, who, { question, value });
      return reply.code(204).send(null);
    },
  );
}

function stopThread(app: RouteApp, rooms: Rooms): void {
  app.post(
    "/v1/threads/:id/stop",
    {
      config: { ...config, audit: "thread.stop" },
      schema: {
        tags: ["rooms"],
        summary: "Ends what runs in a thread: answers, requests, jobs",
        params: PlaceParams,
        body: AsPerson.optional(),
        response: { 200: StoppedAnswer, ...problems(400, 401, 403, 404) },
      },
    },
    async (request) => {
      const who = personOf(request, rooms, request.body?.as_person);
      return rooms.stopIn(request.params.id, who);
    },
  );
}

function removeParticipant(app: RouteApp, rooms: Rooms): void {
  app.delete(
    "/v1/threads/:id/participants/:agent",
    {
      config: { ...config, audit: "thread.remove_participant" },
      schema: {
        tags: ["rooms"],
        summary: "Takes an agent out of a thread",
        params: ParticipantParams,
        querystring: AsPerson,
        response: {
          204: NOTHING,
          ...problems(400, 401, 403, 404),
        },
      },
    },
    async (request, reply) => {
      await rooms.removeParticipant(
        request.params.id,
        request.params.agent,
        personOf(request, rooms, request.query.as_person),
      );

      return reply.code(204).send(null);
    },
  );
}

function listObservations(app: RouteApp, rooms: Rooms): void {
  app.get(
    "/v1/observations",
    {
      config,
      schema: {
        tags: ["rooms"],
        summary: "What agents overheard: short records of the last 24 h",
        querystring: ObservationsQuery,
        response: {
          200: ObservationsAnswer,
          ...problems(400, 401, 403),
        },
      },
    },
    async (request) => {
      const { agent, place } = request.query;
      const who = personOf(request, rooms, undefined);
      const ownPlace = place === undefined ? undefined : await rooms.idOf(place, who);

      const items = await rooms.reader.observations({
        tenant: viewOf(request),
        seesPrivate: hasScope(request.principal!, "admin"),
        ...onlyDefined({ agent, place: ownPlace }),
      });

      return { items: items.map((record) => ({ ...record })) };
    },
  );
}

function listAgents(app: RouteApp, rooms: Rooms): void {
  app.get(
    "/v1/agents",
    {
      config,
      schema: {
        tags: ["rooms"],
        summary: "The directory: agents, accounts, online, load, spend",
        response: { 200: AgentsAnswer, ...problems(401, 403) },
      },
    },
    async (request) => {
      const agents = await rooms.reader.agents({
        personas: hasScope(request.principal!, "admin"),
        tenant: viewOf(request),
      });

      return { items: agents.map((agent) => onWire<z.output<typeof AgentJson>>(agent)) };
    },
  );
}

function pauseAgent(app: RouteApp, rooms: Rooms): void {
  app.post(
    "/v1/agents/:agent/pause",
    {
      config: { scope: "admin", audit: paused },
      schema: {
        tags: ["rooms"],
        summary: "Pauses an agent: no new model call of it; or lets it go on",
        params: AgentParams,
        body: PauseBody,
        response: {
          204: NOTHING,
          ...problems(400, 401, 403, 404),
        },
      },
    },
    async (request, reply) => {
      assertOfAllTenants(callerOf(request), "PAUSE_NOT_ALLOWED", "pause an agent");
      const { paused, as_person } = request.body;
      const by = personOf(request, rooms, as_person).person;
      const { agent } = request.params;
      if (paused) await rooms.pauses.pause(agent, { by });
      else await rooms.pauses.resume(agent, { by });

      return reply.code(204).send(null);
    },
  );
}

function collaborate(app: RouteApp, rooms: Rooms): void {
  app.post(
    "/v1/collaborate",
    // Only operators speak as an agent.
    {
      config: { scope: "admin", audit: handedOn },
      schema: {
        tags: ["rooms"],
        summary: "Hands work to an agent on behalf of another one",
        body: CollaborateBody,
        response: { 200: CollaborateJson, ...problems(400, 401, 403, 404) },
      },
    },
    async (request) => {
      const {
        agent,
        target_agent,
        message,
        topic,
        thread_id,
        channel_id,
        thread_name,
        attachments,
        idempotency_key,
      } = request.body;

      assertOfAllTenants(callerOf(request), "COLLABORATE_NOT_ALLOWED", "speak as an agent");

      const result = await rooms.collaboration.collaborate(
        { agent },
        {
          targetAgent: target_agent,
          message,
          topic,
          threadId: thread_id,
          channelId: channel_id,
          threadName: thread_name,
          attachments,
          idempotencyKey: idempotency_key,
        },
      );

      if (!result.ok) refuseDeed(request, result.code);

      return onWire<CollaborateJson>(result);
    },
  );
}

/** Who asks. Without a token the name may be absent. */
export function personOf(
  request: FastifyRequest,
  rooms: Rooms,
  asPerson: string | undefined,
): RoomPerson {
  const { person } = request.principal!;
  if (person !== undefined && asPerson !== undefined) assertMaySpeakForOthers(request);

  return {
    tenant: callerOf(request).tenant,
    seesAll: viewOf(request) === null,
    person: checkName(asPerson ?? person ?? "", rooms.directory.agents),
  };
}

/** Who speaks. Without a token a name is needed. Throws `PERSON_REQUIRED`. */
export function speakerOf(
  request: FastifyRequest,
  rooms: Rooms,
  asPerson: string | undefined,
): RoomPerson {
  if (request.principal!.person === undefined && asPerson === undefined) {
    throw new DureError("PERSON_REQUIRED", "No person is logged in here, so say who speaks.", {
      class: "input",
      hint: "Send as_person with your name.",
    });
  }

  return personOf(request, rooms, asPerson);
}

/** Throws `PERSON_FORBIDDEN` without the scope `admin`. */
export function assertMaySpeakForOthers(request: FastifyRequest): void {
  if (hasScope(request.principal!, "admin")) return;
  throw new DureError("PERSON_FORBIDDEN", "Only an admin's token may speak for another person.", {
    class: "forbidden",
    hint: "Leave out as_person.",
  });
}

/** The name without padding. Throws `PERSON_INVALID` for the name of an agent. */
export function checkName(
  name: string,
  agents: readonly { id: string; displayName: string }[],
): string {
  const plain = name.normalize("NFC").trim();
  const agent = agents.find(({ id, displayName }) =>
    [id, displayName].some((taken) => taken.toLowerCase() === plain.toLowerCase()),
  );

  if (agent) {
    throw new DureError("PERSON_INVALID", `"${name}" is the name of an agent.`, {
      class: "input",
      hint: "Choose another name.",
    });
  }

  return plain;
}
