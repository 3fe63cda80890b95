import { z } from "zod";
import { toldText, toldValue } from "../../kernel/told-tool.ts";
import type { DoneApproval } from "../../kernel/turn-events.ts";

/** Calls of one `DONE` that are read; a turn asks for few. */
const MOST = 20;

const text = (most: number): z.ZodType<string> => z.string().min(1).max(most);

/** What another server says that waits for a yes. What cannot be read is left out. */
const ApprovalThere = z.object({
  id: text(200),
  tool: text(200),
  by: z.enum(["person", "operator"]),
  role: text(40).optional(),
  two: z.literal(true).optional(),
  at: text(200).optional(),
  args: z.json().optional(),
  question: z.string().optional(),
  expiresAt: z.number(),
});

/**
 * The calls that wait on another server, as the `DONE` here lists them: a yes of the person goes
 * there with their next message, every other one is said there. Pure.
 */
export function approvalsThere(given: unknown, service: string): readonly DoneApproval[] {
  if (!Array.isArray(given)) return [];
  return given.slice(0, MOST).flatMap((one): readonly DoneApproval[] => {
    const read = ApprovalThere.safeParse(one);
    if (!read.success) return [];
    const { args, question, at = service, ...approval } = read.data;
    const shown = args === undefined ? undefined : toldValue(args);
    return [{ ...approval, at, args: shown, question: question && toldText(question) }];
  });
}
