import { z } from "zod";
import { TOOL_CALL_VIEWS } from "../../kernel/turn-events.ts";
import {
  id,
  memorySettings,
  oneOf,
  sessionSettings,
  settings,
  text,
  yesOrNo,
} from "./load-service-schema.ts";
import { mcpServers } from "./mcp-settings.ts";

const notNamed = { error: "must be the name of an export" };

/** `chooseFlow`, or behind its module: `flows.router.chooseFlow`. */
const exportName = z
  .string(notNamed)
  .regex(/^(?:[\p{ID_Continue}$-]+\.)*[\p{ID_Start}$_][\p{ID_Continue}$]*$/u, notNamed);

/** The same under a key, as agents have it: `{ class: ChooseFlow }`. */
const exported = z.union(
  [exportName, settings({ class: exportName }).transform((named) => named.class)],
  notNamed,
);

const flowByScenario = z.record(z.string(), text);

const language = z
  .string()
  .regex(/^[a-z]{2,3}(?:-[A-Za-z0-9]{2,8})*$/, { error: "must be a language such as en" });

/** The words of a service in one more language. */
const words = settings({
  title: text.optional(),
  description: text.optional(),
  examples: z.array(text, { error: "must be a list of texts" }).optional(),
});

/** service.yaml. Source: docs/spec/conversation §2. */
export const serviceSchema = settings({
  name: id,
  version: z.union([z.string(), z.number()]).transform(String).optional(),
  title: text.optional(),
  description: text.optional(),
  examples: z.array(text, { error: "must be a list of texts" }).optional(),
  translations: z.record(language, words).optional(),
  agents: z.record(
    id,
    settings({
      /** A named export of the folder, or `chat`, `conversational`. Default: by the card. */
      class: exportName.optional(),
      /**
       * A file beside service.yaml, or the card itself. Default: `agents/<key>/card.json` or
       * `card.yaml`, if it exists.
       */
      card: z
        .union([z.string(), z.looseObject({})], { error: "must be a card, or the file of one" })
        .optional(),
      /**
       * `true`: must be able to give its text as it comes; `false`: gives it whole. Default: as its
       * class is.
       */
      stream: yesOrNo.optional(),
    }),
    { error: "must be agents by their key" },
  ),
  flows: settings({
    /** What chooses the flow, or a table: the flow of each scenario. Default: the scenario. */
    router: z
      .union([exported, flowByScenario], {
        error: "must be the name of an export, or flows by their scenario",
      })
      .optional(),
    handlers: z
      .record(z.string(), exported, { error: "must be names of exports by their flow" })
      .refine((handlers) => Object.keys(handlers).length > 0, {
        error: "must be at least one flow; the first one is the default",
      }),
  }),
  state: settings({ model: exported, manager: exported.optional() }).optional(),
  memory: memorySettings.optional(),
  sessions: sessionSettings.optional(),
  toolCalls: oneOf(TOOL_CALL_VIEWS).optional(),
  mcp: mcpServers.optional(),
  /** A function that says what is kept of a finished flow. */
  completed: exported.optional(),
});
