import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import { DureError } from "../kernel/errors.ts";
import { z } from "zod";
import type { Rooms } from "../rooms/rooms.ts";
import {
  RoomFileJson,
  RoomFileParams,
  RoomFileQuery,
  RoomUploadQuery,
} from "../wire/room-files.ts";
import { RoomParams } from "../wire/rooms.ts";
import { personOf, speakerOf } from "./room-routes.ts";
import { problems } from "./schemas.ts";
import type { RouteApp, ServerParts } from "./server.ts";

const config = { scope: "rooms" as const };
const BINARY = "application/octet-stream";

/** Files of the web rooms. Source: docs/spec/collaboration §9. */
export const roomFileRoutes: FastifyPluginAsyncZod<ServerParts> = async (app, { rooms }) => {
  if (!rooms) return;
  readFile(app, rooms);
  const { largest } = rooms.files;
  // Here alone a body is no JSON.
  app.addContentTypeParser(
    BINARY,
    { parseAs: "buffer", bodyLimit: largest },
    async (_request: unknown, bytes: Buffer) => bytes,
  );
  uploadFile(app, rooms, largest);
};

function uploadFile(app: RouteApp, rooms: Rooms, bodyLimit: number): void {
  app.post(
    "/v1/rooms/:room/files",
    {
      config: { ...config, audit: false as const }, // the message that carries it is kept
      bodyLimit,
      schema: {
        tags: ["rooms"],
        summary: "Uploads a file for a message of a web room",
        description: "The body is the file, as application/octet-stream. Post it within 24 h.",
        params: RoomParams,
        querystring: RoomUploadQuery,
        body: z.unknown(),
        response: { 201: RoomFileJson, ...problems(400, 401, 403, 404, 409, 413, 503) },
      },
    },
    async (request, reply) => {
      const bytes = request.body;
      if (!Buffer.isBuffer(bytes)) throw notAFile();
      const { name, as_person } = request.query;
      const who = speakerOf(request, rooms, as_person);
      const ref = await rooms.upload(who, { place: request.params.room, name, bytes });

      return reply.code(201).send(ref);
    },
  );
}

function readFile(app: RouteApp, rooms: Rooms): void {
  app.get(
    "/v1/rooms/:room/files/:file",
    {
      config,
      schema: {
        tags: ["rooms"],
        summary: "The bytes of a file of a room's message",
        params: RoomFileParams,
        querystring: RoomFileQuery,
        response: { ...problems(400, 401, 403, 404, 503) },
      },
    },
    async (request, reply) => {
      const { room, file } = request.params;
      const place = await rooms.place(room, personOf(request, rooms, request.query.as_person));
      const { name, type, content } = await rooms.files.read(place, file);
      const isImage = type.startsWith("image/");

      // Whatever a person uploaded, it is shown as what it is and never run.
      return reply
        .header("content-type", type === "text/plain" ? "text/plain; charset=utf-8" : type)
        .header("content-disposition", `${isImage ? "inline" : "attachment"}; ${fileName(name)}`)
        .header("x-content-type-options", "nosniff")
        .header("content-security-policy", "default-src 'none'; sandbox")
        .header("cross-origin-resource-policy", "same-origin")
        .header("cache-control", "private, max-age=3600")
        .send(Buffer.from(content) as never);
    },
  );
}

/** Source: RFC 6266 §4.3, RFC 8187. */
function fileName(name: string): string {
  const plain = name.replace(/[^\w .()-]/gu, "_");
  const encoded = encodeURIComponent(name).replace(/['()*]/gu, escape);
  return `filename="${plain}"; filename*=UTF-8''${encoded}`;
}

function notAFile(): DureError {
  return new DureError("BODY_INVALID", "The body is no file.", {
    class: "input",
    hint: `Send the bytes of one file as ${BINARY}.`,
  });
}
