import type { ContentBlock } from "@agentclientprotocol/sdk";
import { DureError } from "../kernel/errors.ts";

/** What a prompt says: text, links, and text that the editor has put in. Throws `NOT_SPOKEN`. */
export function promptText(prompt: readonly ContentBlock[]): string {
  return prompt.map(textOf).join("\n").trim();
}

function textOf(block: ContentBlock): string {
  if (block.type === "text") return block.text;
  if (block.type === "resource_link") return `[${block.name}](${block.uri})`;
  if (block.type === "resource" && "text" in block.resource) {
    return `<file uri=${JSON.stringify(block.resource.uri)}>\n${block.resource.text}\n</file>`;
  }

  throw new DureError("NOT_SPOKEN", `A part of the type "${block.type}" is not taken.`, {
    class: "input",
    hint: "Send text, links and text files.",
  });
}
