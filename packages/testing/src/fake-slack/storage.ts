import type { IncomingMessage, ServerResponse } from "node:http";
import type { SlackFaults } from "./faults.ts";
import type { FileFault } from "../served-files.ts";
import type { SlackWorld } from "./world.ts";

const LARGEST_UPLOAD = 25 * 1024 * 1024;

/**
 * The hosts beside the Web API: files to whom may see them, and the addresses that take uploads.
 * Source: docs.slack.dev/reference/objects/file-object ("url_private": with the bot's token, else a
 * login page), docs.slack.dev/reference/methods/files.getUploadURLExternal.
 */
export class SlackStorage {
  readonly #world: SlackWorld;
  readonly #faults: SlackFaults;

  constructor(world: SlackWorld, faults: SlackFaults) {
    this.#world = world;
    this.#faults = faults;
  }

  serves(url: string): boolean {
    return /^\/(files-pri|upload)\//.test(url);
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname } = new URL(request.url ?? "/", this.#world.origin);
    const [, kind, name = ""] = pathname.split("/");
    if (kind === "upload") return this.#upload(name, request, response);

    const id = name.slice(name.indexOf("-") + 1);
    this.#world.files.serve(id, { request, response }, this.#refusal(id, request));
  }

  #refusal(id: string, { headers }: IncomingMessage): FileFault | undefined {
    if (this.#faults.isOut) return { kind: "status", status: 503 };
    const app = this.#world.apps.find(
      ({ botToken }) => headers.authorization === `Bearer ${botToken}`,
    );
    const channels = this.#world.shared(id)?.channels ?? [];
    const isIn = channels.some((channel) => {
      return app && this.#world.channel(channel).members.has(app.userId);
    });
    return isIn && app?.scopes.has("files:read") ? undefined : { kind: "login-page" };
  }

  async #upload(id: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const begun = this.#world.uploads.get(id);
    const bytes = await bytesOf(request);
    const isWhole = begun !== undefined && begun.length === bytes.length;
    if (isWhole) this.#world.files.add(id, { name: begun.name, bytes });
    response.writeHead(isWhole && !this.#faults.isOut ? 200 : 500);
    response.end(isWhole ? `OK - ${bytes.length}` : "");
  }
}

async function bytesOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > LARGEST_UPLOAD) throw new Error("An upload is too big.");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
