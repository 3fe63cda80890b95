import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import type { FileRef } from "../kernel/files.ts";
import type { Rooms } from "../rooms/rooms.ts";
import {
  RoomFileParams,
  RoomFileQuery,
  RoomUploadAnswer,
  RoomUploadBody,
} from "../wire/room-files.ts";
import { FileBytesAnswer } from "../wire/files.ts";
import { RoomParams } from "../wire/rooms.ts";
import { answerWithBytes } from "./file-answer.ts";
import { noFile } from "./file-routes.ts";
import { personOf, speakerOf } from "./room-routes.ts";
import { problems } from "./schemas.ts";
import type { RouteApp, ServerParts } from "./server.ts";

const config = { scope: "rooms" as const };

/** Files of the web rooms. Source: docs/spec/collaboration §9. */
export const roomFileRoutes: FastifyPluginAsyncZod<ServerParts> = async (app, { rooms }) => {
  if (!rooms) return;
  upload(app, rooms);
  download(app, rooms);
};

function upload(app: RouteApp, rooms: Rooms): void {
  app.post(
    "/v1/rooms/:room/files",
    {
      // The message that carries them is audited.
      config: { ...config, audit: false, uploads: true },
      schema: {
        tags: ["rooms"],
        summary: "Upload files for a message of a web room",
        description: "Post a message with their ids within 24 h.",
        consumes: ["multipart/form-data"],
        params: RoomParams,
        querystring: RoomFileQuery,
        body: RoomUploadBody,
        response: {
          201: RoomUploadAnswer,
          ...problems(400, 401, 403, 404, 409, 413, 415, 429, 503),
        },
      },
    },
    async (request, reply) => {
      const { room: place } = request.params;
      const who = speakerOf(request, rooms, request.query.as_person);
      await rooms.place(place, who);
      const files: FileRef[] = [];
      for (const one of request.uploads ?? []) {
        files.push(await rooms.upload(who, { place, ...one }));
      }
      if (files.length === 0) throw noFile();

      return reply.code(201).send({ files });
    },
  );
}

function download(app: RouteApp, rooms: Rooms): void {
  app.get(
    "/v1/rooms/:room/files/:file",
    {
      config,
      schema: {
        tags: ["rooms"],
        summary: "The bytes of a file of a room's message",
        params: RoomFileParams,
        querystring: RoomFileQuery,
        response: { 200: FileBytesAnswer, ...problems(400, 401, 403, 404, 503) },
      },
    },
    async (request, reply) => {
      const { room, file } = request.params;
      const place = await rooms.place(room, personOf(request, rooms, request.query.as_person));
      const found = await rooms.files.read(place, file);

      return answerWithBytes(reply, found, found.content, { showsImages: true });
    },
  );
}
