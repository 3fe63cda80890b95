import type { Inbox } from "../../escalations/inbox.ts";
import { DureError } from "../../kernel/errors.ts";
import { jsonCopy, type JsonObject } from "../../kernel/json.ts";
import type { Escalation } from "../../wire/escalations.ts";
import { issuesOf } from "../agent/agent-output.ts";
import type { Agent } from "../agent/agent.ts";
import type { AnyTool } from "../agent/tool.ts";
import type { LeafService } from "../service/combine.ts";

/** A call that waits for a yes may be allowed with other arguments, as its tool takes them. */
export function takeChangedInput(
  inbox: Pick<Inbox, "onAnswer">,
  engine: {
    changedInput(escalation: Escalation, input: Readonly<Record<string, unknown>>): JsonObject;
  },
): void {
  inbox.onAnswer({ type: "decision", source: "turn" }, async (escalation, { input }) =>
    input === undefined ? undefined : { input: engine.changedInput(escalation, input) },
  );
}

/**
 * The arguments of a call that waits for a yes, as a person has changed them and its tool reads
 * them. Throws `ANSWER_INVALID` where the tool would not take them.
 */
export function changedInput(
  services: readonly LeafService[],
  { id, context }: Pick<Escalation, "id" | "context">,
  input: Readonly<Record<string, unknown>>,
): JsonObject {
  const { tool: name, service } = context;
  const agents = services.flatMap((leaf) =>
    leaf.kind === "service" && leaf.name === service ? Object.values(leaf.agents) : [],
  );
  const tool = agents.map((agent) => toolOf(agent, String(name))).find((found) => found);
  if (!tool) {
    throw new DureError("ANSWER_INVALID", `The arguments for ${id} cannot be changed here.`, {
      class: "input",
      hint: `No agent of the service ${String(service)} has the tool ${String(name)} in this process. Approve the call as it is, or reject it with a note.`,
    });
  }
  const read = tool.inputSchema.safeParse(input);
  if (read.success) return jsonCopy(read.data, "input") as JsonObject;
  const named = read.error.issues.map(({ path: [argument = "arguments"] }) => String(argument));
  throw new DureError(
    "ANSWER_INVALID",
    `The arguments for ${id} do not fit ${String(name)}: ${[...new Set(named)].join(", ")}.`,
    {
      class: "input",
      hint: `Nothing was changed; send all arguments as the tool takes them. ${issuesOf(read.error, "arguments")}.`,
    },
  );
}

function toolOf({ tools, toolSets = [] }: Agent, name: string): AnyTool | undefined {
  return tools[name] ?? toolSets.map((set) => set.find(name)).find((found) => found);
}
