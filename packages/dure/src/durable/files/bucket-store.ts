import type { ByteStore, ByteStoreOptions } from "./byte-store.ts";

/** Where a bucket is, and what signs requests to it. */
export interface BucketOptions {
  /** Of the bucket, with a prefix if it is not dure's alone: `https://s3.example.com/team-files`. */
  readonly url: string;
  /**
   * Signs and sends: `fetch` of a client such as `AwsClient` of `aws4fetch`. It must honour
   * `signal`.
   */
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>;
}

/**
 * Bytes in a bucket of S3 or what speaks like it, by PUT, GET and DELETE of an object. Source:
 * docs.aws.amazon.com, "Amazon S3 API Reference" (PutObject, GetObject, DeleteObject).
 */
export function bucketStore({ url, fetch }: BucketOptions): ByteStore {
  const base = url.replace(/\/+$/u, "");
  const ask = (key: string, init: RequestInit): Promise<Response> =>
    fetch(`${base}/${key}`, { ...init, redirect: "error" });
  return {
    name: `the bucket ${new URL(base).host}`,
    async put(key, bytes, { signal }) {
      const body = bytes as Uint8Array<ArrayBuffer>;
      const headers = { "content-type": "application/octet-stream" };
      await ended(await ask(key, { method: "PUT", body, headers, signal }));
    },
    async get(key, options) {
      const response = await ask(key, { method: "GET", signal: options.signal });
      if (response.status !== 404) return readBounded(response, options);
      await response.body?.cancel();
      return undefined;
    },
    async delete(key, { signal }) {
      const response = await ask(key, { method: "DELETE", signal });
      if (response.status !== 404) return ended(response);
      await response.body?.cancel();
    },
  };
}

async function ended(response: Response): Promise<void> {
  await response.body?.cancel();
  if (!response.ok) throw new Error(`it answered ${response.status}`);
}

async function readBounded(
  response: Response,
  { maxBytes }: ByteStoreOptions,
): Promise<Uint8Array> {
  if (!response.ok) {
    await response.body?.cancel();
    throw new Error(`it answered ${response.status}`);
  }
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of response.body ?? []) {
    bytes += piece.length;
    if (bytes > maxBytes) throw new Error(`it sent more than the ${maxBytes} bytes that were put`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}
