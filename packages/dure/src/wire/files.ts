import { z } from "zod";
import type { FileRef } from "../kernel/files.ts";
import type { FromWire } from "../kernel/wire.ts";

/** What the routes of files take and give. Source: docs/spec/conversation §9. */

export const fileRef = z
  .object({
    id: z.string(),
    name: z.string(),
    type: z.string().meta({ description: "As its first bytes say." }),
    bytes: z.int(),
  })
  .meta({ id: "File", description: "A file of a session; GET /v1/agent/files/{file_id} has it." });

export const fileIds = z
  .array(z.string().min(1).max(64))
  .max(10)
  .meta({ description: "Ids of files of the session, from POST /v1/agent/files." });

/** Parts of a form that have a file name; they never stand in the parsed body. */
export const filePart = z.unknown().optional().meta({
  type: "string",
  format: "binary",
  description: "The bytes, as a part with a file name. It may stand there several times.",
});

export const UploadBody = z.object({
  file: filePart,
  session_id: z
    .string()
    .regex(/^[A-Za-z0-9._:@-]{1,200}$/, "must be 1–200 characters of A-Z a-z 0-9 . _ : @ -")
    .meta({ description: "Names the conversation; made on its first message." }),
});

export const UploadAnswer = z.object({ session_id: z.string(), files: z.array(fileRef) });

export const FileParams = z.object({ file_id: z.string().max(64) });

/** The bytes of a file. */
export const FileBytesAnswer = {
  description: "The bytes, as an attachment; an image of a room or a job may be shown in a page.",
  content: { "*/*": { schema: z.string() } },
};

// --- in TypeScript's spelling

/** A file of a session, as messages and answers name it; `bytes` is its size. */
export type FileInfo = FromWire<z.output<typeof fileRef>>;

/** Files that were uploaded to a session. */
export type Uploaded = Omit<FromWire<z.output<typeof UploadAnswer>>, "files"> & {
  readonly files: readonly FileRef[];
};
