import { EDITABLE_FILES } from "../kernel/agent-files.ts";
import { z } from "zod";
import type { FromWire } from "../kernel/wire.ts";
import { AgentParams } from "./rooms.ts";
import { pageOf, time } from "./shared.ts";

/** What the files of agents and their changes take and give. Source: docs/spec/platform §2. */

/** Characters of a text; what may be kept is shorter and refused with its own words. */
const MAX_SENT = 100_000;

const file = z.enum(EDITABLE_FILES);
const version = z
  .string()
  .max(64)
  .nullable()
  .meta({ description: "Of the text that the change is made upon; null: there was no file." });

export const AgentFileParams = AgentParams.extend({ file });
export const AgentEditParams = AgentParams.extend({ edit: z.coerce.number().int().min(1) });
export const AgentEditsQuery = z.object({ cursor: z.string().max(500).optional() });
export const AgentFileBody = z.strictObject({ text: z.string().max(MAX_SENT), version });
export const AgentRestoreBody = z.strictObject({
  side: z.enum(["before", "after"]).meta({ description: "The text before that change, or after." }),
  version,
});

export const AgentFilesAnswer = z.object({
  not_editable: z
    .enum(["code", "service", "machines"])
    .nullable()
    .meta({
      description:
        "Why nothing can be changed here: the team is given in code, the agent answers through a " +
        "service, or other machines have files of their own.",
    }),
  configured: z
    .array(z.string())
    .meta({ description: "Keys that the configuration sets itself, before `agent.yaml`." }),
  files: z.array(
    z.object({
      file,
      path: z.string(),
      text: z.string().nullable(),
      version,
      is_from_outside: z
        .boolean()
        .meta({ description: "It is not what the last change here has written." }),
      problem: z
        .object({ code: z.string(), message: z.string() })
        .nullable()
        .meta({ description: "Why it cannot be read." }),
    }),
  ),
});

export const AgentFileAnswer = z.object({
  text: z.string().nullable(),
  version,
  edit: z.number().nullable().meta({ description: "Null: the file had this text already." }),
});

export const AgentEditJson = z.object({
  id: z.number(),
  file,
  path: z.string(),
  at: time,
  by: z.string(),
  person: z.string().nullable(),
  outcome: z.enum(["done", "refused", "unknown"]).nullable().meta({
    description: "Null: it is under way. `unknown`: cut by a crash, and changed elsewhere since.",
  }),
  restores: z
    .number()
    .nullable()
    .meta({ description: "The change from which this text was brought back." }),
  is_from_outside: z
    .boolean()
    .meta({ description: "The file was changed elsewhere since the change before this one." }),
  added: z.number().meta({ description: "Lines." }),
  removed: z.number().meta({ description: "Lines." }),
});

export const AgentEditDetailJson = AgentEditJson.extend({
  before: z.string().nullable(),
  after: z.string(),
  patch: z.string().meta({ description: "Unified, as git writes it." }),
});

export const AgentEditsAnswer = pageOf(AgentEditJson);

/** The files that make an agent, and whether they can be changed. */
export type AgentFiles = FromWire<z.output<typeof AgentFilesAnswer>>;
/** A file after a change. */
export type AgentFileSaved = FromWire<z.output<typeof AgentFileAnswer>>;
/** A change of a file of an agent. */
export type AgentEditEntry = FromWire<z.output<typeof AgentEditJson>>;
/** The same with both texts. */
export type AgentEditDetail = FromWire<z.output<typeof AgentEditDetailJson>>;
