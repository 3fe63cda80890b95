import { execFile, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { request, type RequestOptions } from "node:https";
import { connect, createServer, type AddressInfo } from "node:net";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { systemClock } from "../../src/kernel/clock.ts";

const GUIDE = new URL("../../../../docs/guides/reverse-proxy.md", import.meta.url);
const PROGRAMS = ["/usr/sbin/nginx", "/usr/local/sbin/nginx", "/opt/homebrew/bin/nginx"];
/** The host name of the guide. */
export const PUBLIC_HOST = "dure.example.com";
/** Longest wait for nginx to listen on a busy machine, milliseconds. */
const PATIENCE_MS = 30_000;

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface Asking {
  readonly method?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly body?: string | undefined;
  /** The address of this machine that the request comes from. Default 127.0.0.1. */
  readonly from?: string | undefined;
}

/** The real nginx with the configuration of the guide, in front of a server on this machine. */
export class Nginx implements AsyncDisposable {
  readonly #port: number;
  readonly #stack: AsyncDisposableStack;

  private constructor(port: number, stack: AsyncDisposableStack) {
    this.#port = port;
    this.#stack = stack;
  }

  /** @param upstream address and port of the server. */
  static async start(upstream: string): Promise<Nginx> {
    await using stack = new AsyncDisposableStack();
    const folder = await mkdtemp(join(tmpdir(), "dure-nginx-"));
    stack.defer(() => rm(folder, { recursive: true, force: true }));
    await makeCertificate(folder);

    const port = await freePort();
    const configuration = join(folder, "nginx.conf");
    await writeFile(configuration, await configurationOf({ folder, port, upstream }));
    const child = spawn(findNginx(), ["-p", folder, "-c", configuration], {
      stdio: ["ignore", "inherit", "pipe"],
    });
    const said: string[] = [];
    child.stderr.on("data", (chunk: Buffer) => said.push(chunk.toString("utf8")));
    stack.defer(() => end(child));
    await listening(port, child, said);
    return new Nginx(port, stack.move());
  }

  /** Asks through the proxy, over TLS, and reads the answer to its end. */
  async ask(path: string, asking: Asking = {}): Promise<Answer> {
    const { response, chunks } = await this.open(path, asking);
    let body = "";
    for await (const chunk of chunks) body += String(chunk);
    return { status: response.status, headers: response.headers, body };
  }

  /** Asks through the proxy and returns as soon as the headers are there. */
  async open(
    path: string,
    { method = "GET", headers = {}, body, from }: Asking = {},
  ): Promise<{ response: Omit<Answer, "body">; chunks: AsyncIterable<unknown> }> {
    const options: RequestOptions = {
      host: "127.0.0.1",
      port: this.#port,
      path,
      method,
      headers: { host: PUBLIC_HOST, "content-type": "application/json", ...headers },
      servername: PUBLIC_HOST,
      rejectUnauthorized: false, // its certificate was made for this test
      localAddress: from,
      agent: false,
    };
    const sent = request(options);
    sent.end(body);
    const [incoming] = (await once(sent, "response")) as [IncomingMessage];
    const response = { status: incoming.statusCode ?? 0, headers: incoming.headers };
    return { response, chunks: incoming };
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#stack.disposeAsync();
  }
}

/** The guide's own text between its fences, with the ports and files of this test. */
async function configurationOf(options: {
  folder: string;
  port: number;
  upstream: string;
}): Promise<string> {
  const guide = await readFile(GUIDE, "utf8");
  const block = /```nginx\n([\s\S]*?)```/.exec(guide)?.[1];
  if (block === undefined) throw new Error("The guide has no block of nginx any more.");

  const site = [
    ["127.0.0.1:4600", options.upstream],
    ["listen 443", `listen 127.0.0.1:${options.port}`],
    ["/etc/ssl/dure/", `${options.folder}/`],
  ] as const;
  const adapted = site.reduce((text, [from, to]) => replaced(text, from, to), block);
  return (
    `${await surroundings(options.folder)}\nhttp {\n${temporaryFolders(options.folder)}\n` +
    `${adapted}\n}\n`
  );
}

/**
 * What stands around a site: one worker of our own user, so that dure cannot tell it by its user.
 */
async function surroundings(folder: string): Promise<string> {
  await mkdir(join(folder, "temporary"), { recursive: true });
  const user = process.getuid?.() === 0 ? `user ${userInfo().username};` : "";
  return [
    user,
    "daemon off;",
    "worker_processes 1;",
    `pid ${folder}/nginx.pid;`,
    "error_log stderr warn;",
    "events { worker_connections 512; }",
  ].join("\n");
}

function temporaryFolders(folder: string): string {
  const kinds = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
  const paths = kinds.map((kind) => `${kind}_temp_path ${folder}/temporary/${kind};`);
  return ["access_log off;", ...paths].join("\n");
}

function replaced(text: string, from: string, to: string): string {
  if (!text.includes(from)) throw new Error(`The guide's nginx block has no ${from} any more.`);
  return text.replaceAll(from, to);
}

function findNginx(): string {
  const program = PROGRAMS.find((place) => existsSync(place));
  if (program !== undefined) return program;
  throw new Error(`No nginx at ${PROGRAMS.join(", ")}: apt-get install nginx-light`);
}

async function makeCertificate(folder: string): Promise<void> {
  const files = ["-keyout", join(folder, "privkey.pem"), "-out", join(folder, "fullchain.pem")];
  const subject = ["-subj", `/CN=${PUBLIC_HOST}`, "-days", "1", "-nodes"];
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"];
  await promisify(execFile)("openssl", ["req", "-x509", ...key, ...subject, ...files]);
}

async function freePort(): Promise<number> {
  const listener = createServer().listen(0, "127.0.0.1");
  await once(listener, "listening");
  const { port } = listener.address() as AddressInfo;
  listener.close();
  await once(listener, "close");
  return port;
}

async function listening(
  port: number,
  child: ChildProcess,
  said: readonly string[],
): Promise<void> {
  const until = systemClock.monotonic() + PATIENCE_MS;
  while (systemClock.monotonic() < until) {
    if (child.exitCode !== null) break;
    const socket = connect(port, "127.0.0.1");
    const isOpen = await Promise.race([
      once(socket, "connect").then(() => true),
      once(socket, "error").then(() => false),
    ]).catch(() => false);
    socket.destroy();
    if (isOpen) return;
    await new Promise((resolve) => systemClock.after(20, () => resolve(undefined)));
  }
  throw new Error(`nginx does not listen on ${port}:\n${said.join("")}`);
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, "exit");
  child.kill("SIGTERM");
  await gone;
}
