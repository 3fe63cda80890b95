import { z } from "zod";
import { filePart, fileRef } from "./files.ts";

/** What files of rooms take and give. Source: docs/spec/collaboration §9. */

const person = z.string().min(1).max(100);

export const RoomFileParams = z.object({
  room: z.string().min(1).max(100),
  file: z.string().min(1).max(100),
});
export const RoomFileQuery = z.object({ as_person: person.optional() });
/** A form with files alone. */
export const RoomUploadBody = z.object({ file: filePart });
export const RoomUploadAnswer = z.object({
  files: z.array(fileRef).meta({ description: "For `files` of the message that carries them." }),
});
