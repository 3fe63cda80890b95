import type { EditableFile } from "../kernel/agent-files.ts";
import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import type { FastifyRequest } from "fastify";
import type { z } from "zod";
import { lineDiff, unifiedPatch } from "../kernel/line-diff.ts";
import { onWire } from "../kernel/wire.ts";
import {
  AgentEditDetailJson,
  type AgentEditJson,
  AgentEditParams,
  AgentEditsAnswer,
  AgentEditsQuery,
  AgentFileAnswer,
  AgentFileBody,
  AgentFileParams,
  AgentFilesAnswer,
  AgentRestoreBody,
} from "../wire/agent-files.ts";
import { AgentParams } from "../wire/rooms.ts";
import { assertOfAllTenants } from "./access.ts";
import { actorOf } from "./actor.ts";
import { agentUnknown } from "./agent-routes.ts";
import { callerOf } from "./guard.ts";
import { problems } from "./schemas.ts";
import type { RouteApp, ServerParts } from "./server.ts";

type State = { readonly text: string | null; readonly version: string | null };

/** A change of one file of an agent. */
export interface AgentEdit {
  readonly id: number;
  readonly agent: string;
  readonly file: EditableFile;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly by: string;
  /** The person for whom the token was made; null where no token has that name. */
  readonly person: string | null;
  readonly before: string | null;
  readonly after: string;
  readonly restores: number | null;
  /** Null: it was begun, and whether it happened is not known yet. */
  readonly outcome: "done" | "refused" | "unknown" | null;
  /** The file was changed elsewhere between the edit before this one and this one. */
  readonly isFromOutside: boolean;
}

/** Files of agents and their changes, as the server needs them. */
export interface AgentEditBook {
  files(agent: string): Promise<{
    readonly notEditable: "code" | "service" | "machines" | null;
    readonly configured: readonly string[];
    readonly files: readonly (State & {
      readonly file: EditableFile;
      readonly path: string;
      readonly isFromOutside: boolean;
      readonly problem: { readonly code: string; readonly message: string } | null;
    })[];
  }>;
  save(order: {
    readonly agent: string;
    readonly file: EditableFile;
    readonly text: string;
    readonly version: string | null;
    readonly by: string;
  }): Promise<State & { readonly edit: number | null }>;
  restore(
    from: { readonly agent: string; readonly id: number; readonly side: "before" | "after" },
    order: { readonly version: string | null; readonly by: string },
  ): Promise<State & { readonly edit: number | null }>;
  list(
    agent: string,
    cursor?: string,
  ): Promise<{ readonly items: readonly AgentEdit[]; readonly nextCursor: string | null }>;
  find(agent: string, id: number): Promise<AgentEdit>;
}

/** The folder of the team is the operators', not a tenant's. */
const SCOPE = "admin";
const PATH = "/v1/agents/:agent";

/** Files of agents that are changed on pages. Source: docs/spec/platform §2. */
export const agentEditRoutes: FastifyPluginAsyncZod<ServerParts> = async (app, parts) => {
  const { rooms, agentEdits: book } = parts;
  if (!rooms || !book) return;
  app.register(async (routes) => {
    routes.addHook("preHandler", async (request) => {
      assertOfAllTenants(callerOf(request), "AGENT_EDIT_NOT_ALLOWED", "change the agents");
      const { agent } = request.params as z.output<typeof AgentParams>;
      if (!rooms.directory.agents.some(({ id }) => id === agent)) throw agentUnknown(agent);
    });
    readFiles(routes, book);
    saveFile(routes, book);
    listEdits(routes, book);
    readEdit(routes, book);
    restoreEdit(routes, book);
  });
};

function readFiles(app: RouteApp, book: AgentEditBook): void {
  app.get(
    `${PATH}/files`,
    {
      config: { scope: SCOPE },
      schema: {
        tags: ["rooms"],
        summary: "The files that make an agent, with the versions that a change names",
        params: AgentParams,
        response: { 200: AgentFilesAnswer, ...problems(400, 401, 403, 404) },
      },
    },
    async (request) =>
      onWire<z.output<typeof AgentFilesAnswer>>(await book.files(request.params.agent)),
  );
}

function saveFile(app: RouteApp, book: AgentEditBook): void {
  app.put(
    `${PATH}/files/:file`,
    {
      config: { scope: SCOPE, audit: "agent.edit" },
      schema: {
        tags: ["rooms"],
        summary: "Changes a file of an agent; checked first, in force from its next answer on",
        params: AgentFileParams,
        body: AgentFileBody,
        response: { 200: AgentFileAnswer, ...problems(400, 401, 403, 404, 409, 413, 503) },
      },
    },
    async (request) => {
      const order = { ...request.params, ...request.body, by: actorOf(request) };
      return onWire<z.output<typeof AgentFileAnswer>>(await book.save(order));
    },
  );
}

function listEdits(app: RouteApp, book: AgentEditBook): void {
  app.get(
    `${PATH}/edits`,
    {
      config: { scope: SCOPE },
      schema: {
        tags: ["rooms"],
        summary: "Changes of an agent's files, newest first; the last 100 are kept",
        params: AgentParams,
        querystring: AgentEditsQuery,
        response: { 200: AgentEditsAnswer, ...problems(400, 401, 403, 404) },
      },
    },
    async (request) => {
      const { items, nextCursor } = await book.list(request.params.agent, request.query.cursor);
      return { items: items.map(entryOf), next_cursor: nextCursor };
    },
  );
}

function readEdit(app: RouteApp, book: AgentEditBook): void {
  app.get(
    `${PATH}/edits/:edit`,
    {
      config: { scope: SCOPE },
      schema: {
        tags: ["rooms"],
        summary: "One change: both texts, and what differs",
        params: AgentEditParams,
        response: { 200: AgentEditDetailJson, ...problems(400, 401, 403, 404) },
      },
    },
    async (request) => {
      const edit = await find(request, book);
      const { before, after } = edit;
      const entry = entryOf(edit);
      return { ...entry, before, after, patch: unifiedPatch(entry.path, before, after) };
    },
  );
}

function restoreEdit(app: RouteApp, book: AgentEditBook): void {
  app.post(
    `${PATH}/edits/:edit/restore`,
    {
      config: { scope: SCOPE, audit: "agent.restore" },
      schema: {
        tags: ["rooms"],
        summary: "Brings back the text before or after a change, as a change of its own",
        params: AgentEditParams,
        body: AgentRestoreBody,
        response: { 200: AgentFileAnswer, ...problems(400, 401, 403, 404, 409, 413, 503) },
      },
    },
    async (request) => {
      const { agent, edit: id } = request.params;
      const { side, version } = request.body;
      const saved = await book.restore({ agent, id, side }, { version, by: actorOf(request) });
      return onWire<z.output<typeof AgentFileAnswer>>(saved);
    },
  );
}

function find(request: FastifyRequest, book: AgentEditBook): Promise<AgentEdit> {
  const { agent, edit } = request.params as z.output<typeof AgentEditParams>;
  return book.find(agent, edit);
}

function entryOf(edit: AgentEdit): z.output<typeof AgentEditJson> {
  const { id, agent, file, at, by, person, outcome, restores, isFromOutside } = edit;
  const lines = lineDiff(edit.before ?? "", edit.after);
  return {
    ...{ id, file, at, by, person, outcome, restores },
    path: `agents/${agent}/${file}`,
    is_from_outside: isFromOutside,
    added: lines.filter(({ kind }) => kind === "added").length,
    removed: lines.filter(({ kind }) => kind === "removed").length,
  };
}
