import type { ContentBlock } from "@modelcontextprotocol/client";
import type { GivenFile } from "../engine/agent/file-result.ts";

/**
 * The files of a server's result: images, recordings, and resources that are bytes. Their type is
 * what their bytes say, whatever the server does. Base64 that is none gives no bytes, and is refused
 * as an empty file where it is stored. Pure.
 */
export function filesOfBlocks(blocks: readonly ContentBlock[]): readonly GivenFile[] {
  return blocks.flatMap((block, index): readonly GivenFile[] => {
    switch (block.type) {
      case "image":
      case "audio":
        return [{ name: `${block.type}-${index + 1}`, bytes: bytesOf(block.data) }];
      case "resource":
        return "blob" in block.resource
          ? [{ name: nameOf(block.resource.uri), bytes: bytesOf(block.resource.blob) }]
          : [];
      default:
        return [];
    }
  });
}

function bytesOf(base64: string): Uint8Array {
  return Buffer.from(base64, "base64");
}

/** The last part of its path; what a name may hold is decided where it is stored. */
function nameOf(uri: string): string {
  const path = uri.split(/[?#]/u, 1)[0]!;
  const last = path.split("/").findLast((part) => part !== "") ?? "resource";
  try {
    return decodeURIComponent(last);
  } catch {
    return last;
  }
}
