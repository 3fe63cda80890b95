import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Files } from "../durable/files/files.ts";
import { DureError, messageOf } from "../kernel/errors.ts";
import { type FileRef, MAX_MESSAGE_FILES } from "../kernel/files.ts";
import { sessionKey } from "../kernel/tenant.ts";
import { tooManyFiles } from "../engine/turn/turn-request.ts";
import { callerOf } from "./guard.ts";

/** A file as it stands in a body; nothing of it is believed yet. */
export interface Upload {
  readonly name: string;
  readonly bytes: Uint8Array;
}

declare module "fastify" {
  interface FastifyRequest {
    /** Files of a body of the type multipart/form-data. */
    uploads?: readonly Upload[];
  }
  interface FastifyContextConfig {
    /** Whether the route takes files in its body: as a form, or in the parts of a message. */
    readonly uploads?: boolean | "parts";
  }
}

/** Bytes of one body with files: two of the largest, and what stands around them. */
const UPLOAD_BYTES = 22_020_096;

/** Bodies with files that are read at the same time; each is in memory whole. */
const UPLOADS_AT_ONCE = 8;

/** Bytes of a body that holds words alone. */
const LARGE_BYTES = 1_048_576;

/** Parts of one body. A form has its fields, and the files of a message. */
const MAX_PARTS = 40;

/**
 * Bodies with files, on routes that take them. Fields become the members of the body; `files` becomes
 * a list of ids. Throws `CONTENT_TYPE_UNSUPPORTED`, `UPLOADS_BUSY`, `BODY_INVALID`,
 * `FILES_TOO_MANY`.
 */
export function takeUploads(app: FastifyInstance): void {
  let reading = 0;
  app.addHook("onRequest", async (request, reply) => {
    const { uploads } = request.routeOptions.config;
    if (!isForm(request) && !(uploads === "parts" && isLarge(request))) return;
    if (isForm(request) && uploads !== true) throw notTaken();
    if (reading >= UPLOADS_AT_ONCE) throw busy();
    reading += 1;
    releaseOnce(request, reply, () => (reading -= 1));
  });
  app.addHook("preValidation", async (request) => RELEASES.get(request)?.());
  app.addContentTypeParser(
    "multipart/form-data",
    { parseAs: "buffer", bodyLimit: UPLOAD_BYTES },
    (request: FastifyRequest, bytes: Buffer) => readForm(request, bytes),
  );
}

const RELEASES = new WeakMap<FastifyRequest, () => void>();

/** When the body is read, or its sender has left. */
function releaseOnce(request: FastifyRequest, reply: FastifyReply, release: () => void): void {
  let isHeld = true;
  const once = (): void => {
    if (isHeld) release();
    isHeld = false;
  };
  RELEASES.set(request, once);
  reply.raw.once("close", once);
}

function isForm(request: FastifyRequest): boolean {
  return /^multipart\/form-data\b/iu.test(request.headers["content-type"] ?? "");
}

/** One that tells no length may be large. */
function isLarge({ headers }: FastifyRequest): boolean {
  return !(Number(headers["content-length"]) <= LARGE_BYTES);
}

async function readForm(request: FastifyRequest, bytes: Buffer): Promise<object> {
  const form = await parsedForm(request.headers["content-type"] ?? "", bytes);
  const uploads: Upload[] = [];
  const fields: Record<string, string> = {};
  const ids: string[] = [];
  for (const [name, value] of form) {
    if (typeof value !== "string") uploads.push(await uploadOf(value));
    else if (name === "files") ids.push(value);
    else if (isStorable(name, value)) fields[name] = value;
    else throw formInvalid(`The field ${name.slice(0, 40)} holds text that cannot be stored.`);
  }
  const count = uploads.length + ids.length;
  if (count > MAX_MESSAGE_FILES) throw tooManyFiles(count);
  request.uploads = uploads;
  return ids.length > 0 ? { message: "", ...fields, files: ids } : { message: "", ...fields };
}

async function uploadOf(file: File): Promise<Upload> {
  return { name: file.name, bytes: new Uint8Array(await file.arrayBuffer()) };
}

function isStorable(name: string, value: string): boolean {
  const both = `${name}${value}`;
  return name !== "__proto__" && !both.includes("\u0000") && both.isWellFormed();
}

async function parsedForm(type: string, bytes: Buffer): Promise<FormData> {
  if (partsOf(type, bytes) > MAX_PARTS) {
    throw formInvalid(`The body has more than ${MAX_PARTS} parts.`);
  }
  try {
    const headers = { "content-type": type };
    return await new Response(bytes as Uint8Array<ArrayBuffer>, { headers }).formData();
  } catch (cause) {
    throw formInvalid(`The body is no multipart/form-data: ${messageOf(cause)}.`);
  }
}

/** Counted before anything is made of them. */
function partsOf(type: string, bytes: Buffer): number {
  const boundary = /boundary="?([^";]+)"?/iu.exec(type)?.[1];
  if (boundary === undefined) throw formInvalid("The content type names no boundary.");
  const line = Buffer.from(`--${boundary}`);
  let parts = 0;
  for (let at = bytes.indexOf(line); at >= 0; at = bytes.indexOf(line, at + line.length)) {
    if (++parts > MAX_PARTS) return parts;
  }
  return parts;
}

/** Stores what a request has brought for a session. */
export async function storeUploads(
  files: Files,
  request: FastifyRequest,
  session: string,
): Promise<readonly FileRef[]> {
  const { tenant } = callerOf(request);
  const key = sessionKey(tenant, session);
  const stored: FileRef[] = [];
  for (const upload of request.uploads ?? []) {
    stored.push(await files.put({ ...upload, tenant, session: key }));
  }
  return stored;
}

function formInvalid(message: string): DureError {
  return new DureError("BODY_INVALID", message, {
    class: "input",
    hint: "Send fields as text and each file as a part with a file name.",
  });
}

function notTaken(): DureError {
  return new DureError("CONTENT_TYPE_UNSUPPORTED", "This route takes no multipart/form-data.", {
    class: "input",
    hint: "Send JSON with the header content-type: application/json.",
  });
}

function busy(): DureError {
  return new DureError("UPLOADS_BUSY", `${UPLOADS_AT_ONCE} bodies with files are read now.`, {
    class: "limit",
    hint: "Try again in a moment.",
  });
}
