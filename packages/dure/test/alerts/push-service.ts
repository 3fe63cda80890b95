import { execFile } from "node:child_process";
import { createECDH, randomBytes, type ECDH } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { buffer } from "node:stream/consumers";
import { promisify } from "node:util";
import ece from "http_ece";
import { importJWK, jwtVerify, type JWTPayload } from "jose";

/** What a push service got for one browser. */
export interface Pushed {
  readonly at: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: Buffer;
}

/** How a push service answers; `hang`: not at all. */
export type PushAnswer = number | "hang" | { readonly status: number; readonly retryAfter: string };

/** A push service on the loopback, with TLS; each browser has a path there. */
export class PushService implements AsyncDisposable {
  readonly pushed: Pushed[] = [];
  /** `host:port`. */
  readonly host: string;
  /** File of the certificate that a sender has to trust. */
  readonly certificate: string;
  readonly #answers = new Map<string, PushAnswer[]>();
  readonly #stop: () => Promise<void>;

  private constructor(host: string, certificate: string, stop: () => Promise<void>) {
    this.host = host;
    this.certificate = certificate;
    this.#stop = stop;
  }

  static async start(): Promise<PushService> {
    const folder = await mkdtemp(path.join(tmpdir(), "dure-push-service-"));
    const [key, certificate] = await certificateIn(folder);
    const heard = Promise.withResolvers<PushService>();
    const server = createServer(
      { key: await readFile(key), cert: await readFile(certificate) },
      (request, response) =>
        void heard.promise.then((service) => service.#answer(request, response)),
    );
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    heard.resolve(
      new PushService(`127.0.0.1:${port}`, certificate, async () => {
        server.closeAllConnections();
        server.close();
        await rm(folder, { recursive: true, force: true });
      }),
    );
    return heard.promise;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const at = request.url!;
    const body = await buffer(request);
    this.pushed.push({ at, headers: request.headers as Pushed["headers"], body });
    const answer = this.#answers.get(at)?.shift() ?? 201;
    if (answer === "hang") return;
    const { status, retryAfter } =
      typeof answer === "number" ? { status: answer, retryAfter: undefined } : answer;
    if (retryAfter !== undefined) response.setHeader("retry-after", retryAfter);
    response.writeHead(status).end();
  }

  /** A browser that can be told. Its first answers are these, then 201. */
  browser(name: string, ...answers: PushAnswer[]): TestBrowser {
    this.#answers.set(`/push/${name}`, answers);
    return new TestBrowser(this, `/push/${name}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stop();
  }
}

async function certificateIn(folder: string): Promise<readonly [string, string]> {
  const [key, certificate] = [path.join(folder, "key.pem"), path.join(folder, "certificate.pem")];
  await promisify(execFile)("openssl", [
    ...["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"],
    ...["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"],
    ...["-days", "1", "-nodes", "-keyout", key, "-out", certificate],
  ]);
  return [key, certificate];
}

/** What a service worker reads. */
interface ReadPush {
  readonly title: string;
  readonly body: string;
  readonly path: string;
  readonly tag: string;
}

/** The keys of a browser: it alone reads what it is told. */
export class TestBrowser {
  readonly endpoint: string;
  readonly #service: PushService;
  readonly #path: string;
  readonly #keys: ECDH = createECDH("prime256v1");
  readonly #auth = randomBytes(16);

  constructor(service: PushService, at: string) {
    this.#service = service;
    this.#path = at;
    this.endpoint = `https://${service.host}${at}`;
    this.#keys.generateKeys();
  }

  /** As `PushSubscription.toJSON()` gives it. */
  get subscription(): { endpoint: string; keys: { p256dh: string; auth: string } } {
    const keys = {
      p256dh: this.#keys.getPublicKey("base64url"),
      auth: this.#auth.toString("base64url"),
    };
    return { endpoint: this.endpoint, keys };
  }

  get pushed(): readonly Pushed[] {
    return this.#service.pushed.filter(({ at }) => at === this.#path);
  }

  /** In the order of their arrival, decrypted by the library of the protocol's authors. */
  get read(): readonly ReadPush[] {
    return this.pushed.map(({ body }) => {
      const options = {
        version: "aes128gcm" as const,
        privateKey: this.#keys,
        authSecret: this.#auth.toString("base64url"),
      };
      return JSON.parse(ece.decrypt(body, options).toString()) as ReadPush;
    });
  }
}

/** The claims of a request by RFC 8292, after its signature is checked against the key it names. */
export async function vapidOf({ headers }: Pushed): Promise<{
  readonly key: string;
  readonly claims: JWTPayload;
}> {
  const [, token = "", key = ""] =
    /^vapid t=([\w.-]+), ?k=([\w-]+)$/.exec(headers["authorization"] ?? "") ?? [];
  const bytes = Buffer.from(key, "base64url");
  const [x, y] = [bytes.subarray(1, 33), bytes.subarray(33)].map((one) =>
    one.toString("base64url"),
  );
  const jwk = { kty: "EC", crv: "P-256", x: x!, y: y! };
  const { payload } = await jwtVerify(token, await importJWK(jwk, "ES256"), {
    algorithms: ["ES256"],
  });
  return { key, claims: payload };
}
