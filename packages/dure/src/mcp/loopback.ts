import { timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { withTimeout, type Clock } from "../kernel/clock.ts";
import { DureError } from "../kernel/errors.ts";

/** Longest wait for a person who logs in, milliseconds. */
const PERSON_MS = 300_000;
const CALLBACK = "/callback";
/** Where it comes back to, whatever the port. */
export const ANY_LOOPBACK = `http://127.0.0.1${CALLBACK}`;

/** What the browser brings back. */
export interface BroughtBack {
  readonly code: string;
  readonly iss: string | undefined;
}

/** Where the browser comes back to: an address of this machine alone. */
export interface Loopback extends AsyncDisposable {
  readonly redirectUrl: string;
  /** Throws `MCP_LOGIN_REFUSED`, `MCP_LOGIN_LATE`. */
  brought(options: { readonly signal: AbortSignal | undefined }): Promise<BroughtBack>;
}

interface LoopbackOptions {
  /** Only a call with it counts; the browser of another page cannot know it. */
  readonly state: string;
  readonly clock: Clock;
}

export async function openLoopback({ state, clock }: LoopbackOptions): Promise<Loopback> {
  const back = Promise.withResolvers<BroughtBack>();
  back.promise.catch(() => undefined); // it may come before it is waited for
  const server = createServer((request, response) => {
    const url = URL.parse(request.url ?? "/", "http://127.0.0.1");
    const answer = (status: number, words: string): void => {
      const headers = { "content-type": "text/plain; charset=utf-8", "cache-control": "no-store" };
      response.writeHead(status, headers).end(`${words}\n`);
    };
    if (request.method !== "GET" || url?.pathname !== CALLBACK) return answer(404, "Not here.");
    const { searchParams: asked } = url;
    if (!isSame(asked.get("state") ?? "", state)) return answer(400, "This is not the login.");
    const code = asked.get("code");
    if (code === null) {
      answer(200, "The login was refused. You can close this window.");
      return back.reject(
        refused(asked.get("error_description") ?? asked.get("error") ?? "no code"),
      );
    }
    answer(200, "You are logged in, unless the terminal says otherwise. Close this window.");
    back.resolve({ code, iss: asked.get("iss") ?? undefined });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;

  return {
    redirectUrl: `http://127.0.0.1:${port}${CALLBACK}`,
    brought: ({ signal }) =>
      withTimeout(clock, { ms: PERSON_MS, signal }, late, () => back.promise),
    async [Symbol.asyncDispose]() {
      const closed = once(server, "close");
      server.close();
      server.closeIdleConnections();
      await closed;
    },
  };
}

function isSame(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}

function refused(why: string): DureError {
  const words = `The authorization server says: ${why.slice(0, 300)}`;
  return new DureError("MCP_LOGIN_REFUSED", words, { class: "unauthorized" });
}

function late(): DureError {
  const minutes = PERSON_MS / 60_000;
  return new DureError("MCP_LOGIN_LATE", `No login came back within ${minutes} minutes.`, {
    class: "unavailable",
    hint: "Begin again, and open the address in a browser on this machine.",
  });
}
