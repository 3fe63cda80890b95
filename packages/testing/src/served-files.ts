import type { IncomingMessage, ServerResponse } from "node:http";

/** A file that a double serves. */
export interface ServedFile {
  readonly name: string;
  readonly bytes: Uint8Array;
  /** As its sender says. Default `application/octet-stream`. */
  readonly contentType?: string | undefined;
}

/** How the serving of a file goes wrong. */
export type FileFault =
  /** 200 and a page, as Slack answers a token that may not read files. */
  | { readonly kind: "login-page" }
  | { readonly kind: "status"; readonly status: number; readonly retryAfterS?: number }
  /** A body without an end, and without its length. */
  | { readonly kind: "endless" }
  /** Headers and the first byte, then nothing until the client leaves. */
  | { readonly kind: "stalled" }
  /** The connection is cut in the middle of the body. */
  | { readonly kind: "cut" }
  | { readonly kind: "redirect"; readonly to: string };

/** What was asked for. */
export interface FileRequest {
  readonly name: string;
  readonly authorization: string | undefined;
  /** 0: it got no whole answer. */
  readonly status: number;
}

const KEPT = 1_000;
const PAGE = "<!doctype html><title>Sign in</title><form><input name=password></form>";

/** Files of a platform over HTTP, and the faults that wait for those who read them. */
export class ServedFiles {
  /** Oldest first; the last 1,000. */
  readonly requests: FileRequest[] = [];
  readonly #files = new Map<string, ServedFile>();
  readonly #armed: { readonly name: string; readonly fault: FileFault; left: number }[] = [];

  add(id: string, file: ServedFile): void {
    this.#files.set(id, file);
  }

  get(id: string): ServedFile | undefined {
    return this.#files.get(id);
  }

  /** Files of this name are served so. @param times default 1 */
  fault(name: string, fault: FileFault, times = 1): void {
    this.#armed.push({ name, fault, left: times });
  }

  /** @param refused the page or status for one who may not read it */
  serve(
    id: string,
    { request, response }: { request: IncomingMessage; response: ServerResponse },
    refused?: FileFault,
  ): void {
    const file = this.#files.get(id);
    const fault =
      (file && this.#take(file.name)) ??
      refused ??
      (file ? undefined : ({ kind: "status", status: 404 } as const));
    this.#log(request, { name: file?.name ?? id, fault });
    if (fault) return failAs(response, fault);

    const { bytes, contentType = "application/octet-stream" } = file!;
    response.writeHead(200, { "content-type": contentType, "content-length": bytes.length });
    response.end(bytes);
  }

  #take(name: string): FileFault | undefined {
    const hit = this.#armed.find((armed) => armed.name === name && armed.left > 0);
    if (hit) hit.left -= 1;
    return hit?.fault;
  }

  #log(
    { headers }: IncomingMessage,
    { name, fault }: { name: string; fault: FileFault | undefined },
  ): void {
    const status = fault === undefined ? 200 : fault.kind === "status" ? fault.status : 0;
    this.requests.push({ name, authorization: headers.authorization, status });
    if (this.requests.length > KEPT) this.requests.shift();
  }
}

function failAs(response: ServerResponse, fault: FileFault): void {
  switch (fault.kind) {
    case "login-page":
      response.writeHead(200, { "content-type": "text/html; charset=utf-8" });
      return void response.end(PAGE);
    case "status": {
      const seconds = fault.retryAfterS;
      if (seconds !== undefined) response.setHeader("retry-after", String(seconds));
      response.writeHead(fault.status, { "content-type": "text/plain" });
      return void response.end("This content is no longer available.");
    }
    case "endless":
      response.writeHead(200, { "content-type": "image/png" });
      return pour(response);
    case "stalled":
      response.writeHead(200, { "content-type": "image/png", "content-length": 100 });
      return void response.write("x");
    case "cut":
      response.writeHead(200, { "content-type": "image/png", "content-length": 100 });
      return void response.write("x", () => response.destroy());
    case "redirect":
      response.writeHead(302, { location: fault.to });
      return void response.end();
    default:
      fault satisfies never;
  }
}

/** As fast as it is read, until the client leaves. */
function pour(response: ServerResponse): void {
  const piece = Buffer.alloc(65_536);
  const more = (): void => {
    while (!response.destroyed && response.write(piece));
  };
  response.on("drain", more);
  more();
}
