import { z } from "zod";

/** What `/mcp` takes beside the messages of MCP. Source: docs/spec/interop §2. */
export const McpQuery = z.object({
  tools: z
    .string()
    .max(200)
    .optional()
    .meta({ description: "Groups of tools, with commas between them." }),
  as: z
    .string()
    .min(1)
    .max(64)
    .optional()
    .meta({ description: "Name to speak under, where the server asks for no token." }),
});
