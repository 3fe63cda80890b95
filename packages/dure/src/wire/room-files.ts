import { z } from "zod";

/** What files of rooms take and give. Source: docs/spec/collaboration §9. */

const person = z.string().min(1).max(100);

export const RoomFileParams = z.object({
  room: z.string().min(1).max(100),
  file: z.string().min(1).max(100),
});
export const RoomFileQuery = z.object({ as_person: person.optional() });
export const RoomUploadQuery = z.object({
  name: z.string().min(1).max(500).meta({ description: "The name of the file." }),
  as_person: person.optional(),
});
export const RoomFileJson = z.object({
  id: z.string().meta({ description: "For `files` of the message that carries it." }),
  name: z.string(),
  type: z.string().meta({ description: "As its first bytes say." }),
  bytes: z.number(),
});
