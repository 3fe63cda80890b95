/** The tools by which an agent's turn hands over work. */

import { z } from "zod";
import type { Database } from "../../durable/database.ts";
import { tool, type AnyTool } from "../../engine/agent/tool.ts";
import { MAX_MESSAGE_FILES } from "../../kernel/files.ts";
import type { CollaborateCaller } from "./collaborate-call.ts";
import type { Collaboration } from "./collaborate.ts";
import { placeOfSession } from "../place.ts";

/**
 * What room tools need. A turn that goes on after a crash may call one before the rooms are open;
 * it waits for them.
 */
export interface RoomToolsParts {
  readonly database: Database;
  readonly collaboration: Pick<Collaboration, "collaborate">;
}

const COLLABORATE = z.object({
  targetAgent: z.string().max(100).describe("Id of the agent, such as eden."),
  message: z
    .string()
    .describe("What you want done, complete in itself: the other agent sees only this."),
  topic: z
    .string()
    .max(200)
    .optional()
    .describe("Leave out unless you have several separate things going on with the same agent."),
  threadId: z.string().max(200).optional(),
  channelId: z.string().max(200).optional().describe("In full, such as discord:general."),
  threadName: z.string().max(100).optional(),
  attachments: z.array(z.url()).max(10).optional(),
  files: z
    .array(z.string().min(1).max(200))
    .max(MAX_MESSAGE_FILES)
    .optional()
    .describe("Names of files of this conversation that it is shown with."),
});

/** `collaborate`, for every session of an agent: rooms, HTTP, CLI, jobs. */
export function collaborateTool(agent: string, parts: () => Promise<RoomToolsParts>): AnyTool {
  return tool({
    description:
      "Hands work to another agent of the team, in a thread that the people of this place can " +
      "read; from a private conversation in one that only its person reads. Returns " +
      "at once; the answer comes in that thread. Use it for work that people should be able " +
      "to follow. Tell your person that you handed it over, then go on.",
    inputSchema: COLLABORATE,
    effect: "idempotent",
    execute: async (input, { key, session, turn }, { signal }) => {
      const caller: CollaborateCaller = { agent, session, turn, callKey: key };
      return (await parts()).collaboration.collaborate(caller, input, { signal });
    },
  });
}

/** What an agent can do with its own part in a room; offered in rooms alone. */
export function presenceTools(
  parts: () => Promise<RoomToolsParts>,
): Readonly<Record<string, AnyTool>> {
  const offered = ({ session }: { session: string }): boolean =>
    placeOfSession(session) !== undefined;
  const wish = (value: "silent" | "end" | "leave", description: string, note: string): AnyTool =>
    tool({
      description,
      inputSchema: z.object({}),
      effect: "idempotent",
      offered,
      execute: async (_input, { turn }) => {
        await (await parts()).database.query(WISH, [turn, value]);
        return { ok: true, note };
      },
    });
  return {
    stay_silent: wish(
      "silent",
      "Posts nothing in answer to this message. Use it when another has said what there is to say.",
      "Nothing will be posted.",
    ),
    end_conversation: wish(
      "end",
      "Ends your part: what you say now is your last word here, and no other agent goes on from it.",
      "Your next words are the last ones; keep them short.",
    ),
    leave: wish(
      "leave",
      "Leaves this thread: you hear it no more unless you are named.",
      "You have left when this answer is posted.",
    ),
  };
}

/** Kept with the work itself, so that it holds after a crash. */
const WISH = {
  name: "room.wish",
  text: `
    update dure.handlings
    set wishes = array(select distinct unnest(wishes || $2::text))
    where turn = $1 and state <> 'done'`,
};
