import { z } from "zod";
import type { FromWire } from "../kernel/wire.ts";
import { foundProblems, repository } from "./plans.ts";

/** Characters of a draft's text. */
const MAX_TEXT = 1_000_000;

const draftId = z.string().min(1).max(60);
const version = z.int().min(1).meta({ description: "The one that the change was made upon." });
const portId = z
  .string()
  .regex(/^[A-Za-z0-9][\w-]*$/)
  .max(60);
const words = z.string().max(8_000);
const list = z.array(z.string().max(1_000)).max(200);

export const DraftParams = z.object({ id: draftId });
export const DraftQuery = z.object({ version: z.coerce.number().int().min(1) });

export const DraftBody = z
  .object({
    goal: z.string().trim().max(8_000).default(""),
    repository,
    text: z.string().max(MAX_TEXT).optional().meta({
      description: "A plan to be edited as it stands; then no model is asked.",
    }),
  })
  .refine(({ goal, text }) => goal !== "" || text !== undefined, {
    error: "needs a goal, or the text of a plan",
    path: ["goal"],
  });

const set = z
  .object({
    title: words.optional(),
    goal: words.optional(),
    role: words.optional(),
    acceptance: words.optional(),
    owns: list.optional(),
    tests: list.optional(),
    reads: list.optional(),
    depends_on: list.optional(),
    worker: z.string().max(60).nullable().optional().meta({
      description: "The agent of all ports of this role; null: the default worker.",
    }),
  })
  .meta({ description: "What is empty is taken out." });

export const DraftChangeJson = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("set"), port: portId, set }),
  z.object({ kind: z.literal("add"), port: portId, set }),
  z.object({ kind: z.literal("delete"), port: portId }),
]);

export const DraftSaveBody = z
  .object({
    version,
    text: z.string().max(MAX_TEXT).optional(),
    change: DraftChangeJson.optional(),
  })
  .refine(({ text, change }) => (text === undefined) !== (change === undefined), {
    error: "needs a text or a change, not both",
    path: ["change"],
  });

export const DraftAnswersBody = z.object({
  version,
  answers: z
    .array(
      z.object({
        question: z.string().min(1).max(400),
        answer: z.string().trim().min(1).max(2_000),
      }),
    )
    .max(3)
    .meta({ description: "Without one the stored answers are told to the model again." }),
});

const about = {
  id: z.string(),
  version: z.int(),
  goal: z.string(),
  repository: z.string().nullable(),
  updated_by: z.string(),
  created_at: z.number(),
  updated_at: z.number(),
};

export const ListedDraftJson = z.object({ ...about, unanswered: z.int() });

export const DraftJson = z
  .object({
    ...about,
    text: z.string(),
    questions: z
      .array(z.object({ question: z.string(), answer: z.string().nullable() }))
      .meta({ description: "At most 3 without an answer." }),
    open: z.array(z.string()).meta({ description: "What it says it left open; at most 10." }),
    ports: z.array(
      z.object({
        id: z.string(),
        title: z.string(),
        goal: z.string(),
        role: z.string(),
        acceptance: z.string(),
        owns: z.array(z.string()),
        tests: z.array(z.string()),
        reads: z.array(z.string()),
        depends_on: z.array(z.string()),
        worker: z.string().nullable(),
      }),
    ),
    problems: foundProblems,
    problem_count: z.int(),
  })
  .meta({ id: "PlanDraft", description: "A plan that is made ready, with what is wrong with it." });

export const DraftsAnswer = z.object({ items: z.array(ListedDraftJson) });

/** A plan that is made ready, with what is wrong with it. */
export type PlanDraft = FromWire<z.output<typeof DraftJson>>;
/** One line of the list of drafts. */
export type ListedDraft = FromWire<z.output<typeof ListedDraftJson>>;
/** What can be read of a port in a draft. */
export type DraftPort = PlanDraft["ports"][number];
/** One change of a draft's ports. */
export type DraftChange = FromWire<z.output<typeof DraftChangeJson>>;
/** What of a port changes. */
export type PortChange = FromWire<z.output<typeof set>>;
/** What a draft begins with. */
export type NewDraft = FromWire<z.input<typeof DraftBody>>;
