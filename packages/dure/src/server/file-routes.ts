import type { FastifyRequest } from "fastify";
import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import { unknownFile } from "../durable/files/files.ts";
import { DureError } from "../kernel/errors.ts";
import type { FileRef } from "../kernel/files.ts";
import { sessionIdFor } from "../kernel/tenant.ts";
import { isOfConversation } from "../rooms/look/place-files.ts";
import { FileBytesAnswer, FileParams, UploadAnswer, UploadBody } from "../wire/files.ts";
import { answerWithBytes } from "./file-answer.ts";
import { assertMayFollow, assertNotOwn } from "./own-sessions.ts";
import { problems } from "./schemas.ts";
import type { RouteApp, ServerParts } from "./server.ts";
import { viewerOf } from "./tenants.ts";
import { storeUploads } from "./uploads.ts";

const config = { scope: "chat" } as const;

/** Files of conversations. Source: docs/spec/conversation §9. */
export const fileRoutes: FastifyPluginAsyncZod<ServerParts> = async (app, parts) => {
  if (!parts.files) return;
  upload(app, parts);
  download(app, parts);
};

function upload(app: RouteApp, { files }: ServerParts): void {
  app.post(
    "/v1/agent/files",
    {
      config: { ...config, audit: false, uploads: true },
      schema: {
        tags: ["files"],
        summary: "Upload files to a session, for a message of it",
        consumes: ["multipart/form-data"],
        body: UploadBody,
        response: { 201: UploadAnswer, ...problems(400, 413, 415, 429, 503) },
      },
    },
    async (request, reply) => {
      const { session_id } = request.body;
      assertNotOwn(session_id);
      request.sessionId = session_id;
      const stored = await storeUploads(files!, request, session_id);
      if (stored.length === 0) throw noFile();

      return reply.code(201).send({ session_id, files: [...stored] });
    },
  );
}

function download(app: RouteApp, parts: ServerParts): void {
  const { files } = parts;
  app.get(
    "/v1/agent/files/:file_id",
    {
      config,
      schema: {
        tags: ["files"],
        summary: "The bytes of a file",
        params: FileParams,
        response: { 200: FileBytesAnswer, ...problems(404, 503) },
      },
    },
    async (request, reply) => {
      const { file_id } = request.params;
      const file = await fileFor(parts, request, file_id);
      const bytes = await files!.read(file.id, { session: file.session });
      if (bytes === undefined) throw unknownFile(file_id);

      return answerWithBytes(reply, file, bytes, { showsImages: false });
    },
  );
}

/** Throws `FILE_UNKNOWN` for one of another tenant, and for one of no conversation. */
export async function fileFor(
  { files, members }: Pick<ServerParts, "files" | "members">,
  request: FastifyRequest,
  id: string,
): Promise<FileRef & { readonly session: string }> {
  const viewer = viewerOf(request);
  const found = await files!.look(id, viewer.tenant);
  if (!found || !isOfConversation(found.session)) throw unknownFile(id);
  const session = sessionIdFor(viewer.tenant, found.session);
  const seen = await members.view(request.principal!, { session }, viewer.tenant);
  const file = await files!.look(id, seen);
  if (!file) throw unknownFile(id);
  assertMayFollow(request.principal!, session);
  request.sessionId = session;
  return file;
}

export function noFile(): DureError {
  return new DureError("FILE_EMPTY", "The body has no file.", {
    class: "input",
    hint: "Send each file as a part of multipart/form-data with a file name.",
  });
}
