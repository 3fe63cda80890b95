import type { CallToolResult, ContentBlock } from "@modelcontextprotocol/client";
import { filesOfBlocks } from "./mcp-files.ts";
import type { GivenFile } from "../engine/agent/file-result.ts";
import { cutBytes } from "../kernel/cut-bytes.ts";
import type { Json } from "../kernel/json.ts";

/**
 * Bytes of a result that are kept. Of a long one the model is shown a part and reads the rest: see
 * `engine/agent/kept-result.ts`.
 */
export const MAX_BYTES = 1_048_576;

/** What a call gave, as a model reads it. */
export interface ReadResult {
  /** The tool says that it has failed; the value says why. */
  readonly isError: boolean;
  /** Structured data where the server gives it, else text. */
  readonly value: Json;
  /** Its images, recordings and resources of bytes. Of one that has failed: none. */
  readonly files: readonly GivenFile[];
}

/**
 * A server's result: its structured data, or the text of its parts. What a model cannot read stands
 * there by kind and size. Bounded. Pure.
 */
export function readResult(result: CallToolResult): ReadResult {
  const isError = result.isError === true;
  const { structuredContent } = result;
  const content = result.content ?? [];
  const files = isError ? [] : filesOfBlocks(content);
  if (structuredContent !== undefined && !isError) {
    const text = JSON.stringify(structuredContent);
    const isShort = Buffer.byteLength(text) <= MAX_BYTES;
    const value = isShort ? (structuredContent as Json) : cutBytes(text, MAX_BYTES);
    return { isError, value, files };
  }
  return { isError, value: cutBytes(content.map(textOfBlock).join("\n"), MAX_BYTES), files };
}

/** What a model reads of one part; of what it cannot read the kind and size. Pure. */
export function textOfBlock(block: ContentBlock): string {
  switch (block.type) {
    case "text":
      return block.text;
    case "image":
    case "audio":
      return `[${block.type} ${block.mimeType}, ${block.data.length} characters of base64]`;
    case "resource":
      return "text" in block.resource
        ? `[${block.resource.uri}]\n${block.resource.text}`
        : `[${block.resource.uri}, ${block.resource.blob.length} characters of base64]`;
    case "resource_link":
      return `[${block.uri}] ${block.name}`;
    default:
      return "[a part of a kind that is not known]";
  }
}
