import { z } from "zod";

/** What `/ag-ui/v1` takes of AG-UI's clients. Source: docs/spec/interop §9. */

const part = z.looseObject({
  type: z.string(),
  text: z.string().optional(),
  source: z.looseObject({ type: z.string(), value: z.string() }).optional(),
});
const text = z.string().max(32_768);

const Message = z.looseObject({
  id: z.string().max(500),
  role: z.string().max(50),
  content: z.unknown().optional(),
  toolCallId: z.string().max(500).optional(),
});

const Tool = z.looseObject({
  name: z.string(),
  description: z.string().nullish(),
  parameters: z.record(z.string(), z.unknown()).nullish(),
});

export const AgUiParams = z.object({ service: z.string().min(1).max(100) });

export const AgUiContent = z.union([z.string(), z.array(part).max(1_000)]);

export const AgUiInput = z.looseObject({
  threadId: z.string().min(1),
  runId: z.string().min(1).max(500),
  messages: z.array(Message).max(2_000),
  /** Those of the page. */
  tools: z.array(Tool).max(1_000).nullish(),
  /** What the client has of the state: what changes is told against it. */
  state: z.unknown().optional(),
  context: z
    .array(z.looseObject({ description: text, value: text }))
    .max(100)
    .nullish(),
  resume: z
    .array(
      z.looseObject({
        interruptId: z.string().min(1).max(200),
        status: z.enum(["resolved", "cancelled"]),
        payload: z.unknown().optional(),
      }),
    )
    .max(1, "has more answers than the one question that is open")
    .nullish(),
});
export type AgUiInput = z.output<typeof AgUiInput>;
