import { fieldError } from "./problem.ts";
import type { Upload } from "./uploads.ts";

/** A file that stands in a part of a message, as the clients of a door send it. */
interface PartFile {
  /** A `data:` URL. */
  readonly url?: string | undefined;
  /** Base 64, where there is no URL. */
  readonly data?: string | undefined;
  readonly name?: string | null | undefined;
  /** The member of the request that holds it. */
  readonly field: string;
}

/** Bytes of a request with files in its parts: two of the largest in base 64, and words around them. */
export const PARTS_BYTES = 29_360_128;

/**
 * The file of a part. Its type is what its bytes say. Throws `NOT_SPOKEN` for one that is elsewhere:
 * a server that fetches what it is told to reaches where its caller may not. Pure.
 */
export function fileOfPart({ url, data, name, field }: PartFile): Upload {
  const head = url === undefined ? "" : DATA_URL.exec(url.slice(0, HEAD))?.[0];
  const encoded = head === undefined ? undefined : (url?.slice(head.length) ?? data);
  const bytes = encoded === undefined ? undefined : bytesOf(encoded);
  if (bytes && bytes.length > 0) return { name: name ?? "file", bytes };

  throw fieldError(
    "NOT_SPOKEN",
    field,
    "holds a file without its bytes in base 64",
    "Send a data: URL, or upload the file: POST /v1/agent/files.",
  );
}

const DATA_URL = /^data:[^,]*;base64,/iu;
/** Characters before the bytes of a `data:` URL. */
const HEAD = 500;

/** Undefined: it is no base 64. */
function bytesOf(encoded: string): Buffer | undefined {
  return /^[A-Za-z0-9+/_-]*={0,2}$/u.test(encoded) ? Buffer.from(encoded, "base64") : undefined;
}
