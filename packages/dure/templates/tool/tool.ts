import { tool } from "dure";
import { z } from "zod";

/** An agent has it when its agent.md says: tools: [TOOL_NAME]. */
export const TOOL_NAME = tool({
  // What the model reads: what it does, and when to use it.
  description: "Greets a person by name.",
  inputSchema: z.object({ name: z.string().min(1).max(100) }),
  // A tool that changes something outside says effect: "once".
  execute: ({ name }) => ({ greeting: `Hello, ${name}!` }),
});
