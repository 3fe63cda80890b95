import { createHash } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Clock } from "dure/client";
import { ServedFiles, type FileFault } from "../served-files.ts";
import type { FileFact } from "./world-facts.ts";

/** What Discord's addresses of files are good for. Source: "Message: Signed Attachment CDN URLs". */
const GOOD_FOR_MS = 24 * 3_600_000;

/**
 * Files of messages, at addresses that are signed and run out; each time that a message is told they
 * are new. No token is asked for. Source: "Reference: Signed Attachment CDN URLs".
 */
export class Attachments extends ServedFiles {
  readonly #clock: Clock;
  readonly #origin: string;
  #signing = 0;

  constructor({ clock, origin }: { clock: Clock; origin: string }) {
    super();
    this.#clock = clock;
    this.#origin = origin;
  }

  /** The file as a message has it: its bytes are served from now on. */
  keep(file: FileFact): FileFact {
    const { id, filename: name, bytes, contentType } = file;
    if (bytes) this.add(id, { name, bytes, contentType });
    return file;
  }

  urlOf(place: string, { id, filename }: FileFact): string {
    const path = `/attachments/${place}/${id}/${encodeURIComponent(filename)}`;
    const ex = Math.floor((this.#clock.now() + GOOD_FOR_MS) / 1000).toString(16);
    return `${this.#origin}${path}?ex=${ex}&is=${ex}&hm=${this.#signature(path, ex)}&`;
  }

  /** Every address that was told so far is good no more. */
  expire(): void {
    this.#signing += 1;
  }

  serves(url: string): boolean {
    return url.startsWith("/attachments/");
  }

  handle(request: IncomingMessage, response: ServerResponse): void {
    const { pathname, searchParams } = new URL(request.url ?? "/", this.#origin);
    const ex = searchParams.get("ex") ?? "";
    const isGood =
      searchParams.get("hm") === this.#signature(pathname, ex) &&
      Number.parseInt(ex, 16) * 1000 > this.#clock.now();
    const refused: FileFault | undefined = isGood ? undefined : { kind: "status", status: 404 };
    this.serve(pathname.split("/")[3] ?? "", { request, response }, refused);
  }

  #signature(path: string, ex: string): string {
    return createHash("sha256").update(`${this.#signing} ${path} ${ex}`).digest("hex");
  }
}
