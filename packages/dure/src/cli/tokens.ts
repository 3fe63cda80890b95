import { DureError } from "../kernel/errors.ts";
import { isObject } from "../kernel/json.ts";
import { fromWire } from "../kernel/wire.ts";

/** A token as the server tells of it. */
export interface TokenInfo {
  readonly id: string;
  readonly name: string;
  readonly tenant: string;
  readonly scopes: readonly string[];
  readonly createdAt: number;
  readonly revokedAt: number | null;
}

/** Calls `/v1/tokens`, which needs the scope `admin`. */
export class TokensClient {
  readonly #baseUrl: string;
  readonly #token: string | undefined;

  constructor(options: { baseUrl: string; token: string | undefined }) {
    this.#baseUrl = options.baseUrl;
    this.#token = options.token;
  }

  /** The text of the new token is in the answer and nowhere else. */
  async create(token: { name: string; scopes: readonly string[]; tenant?: string }): Promise<{ token: string; record: TokenInfo }> {
    return (await this.#call("POST", "", token)) as { token: string; record: TokenInfo };
  }

  async list(): Promise<readonly TokenInfo[]> {
    return ((await this.#call("GET", "")) as { items: readonly TokenInfo[] }).items;
  }

  async revoke(id: string): Promise<void> {
    await this.#call("DELETE", `/${encodeURIComponent(id)}`);
  }

  async #call(method: string, path: string, body?: unknown): Promise<unknown> {
    const response = await fetch(`${this.#baseUrl}/v1/tokens${path}`, {
      method,
      headers: {
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...(this.#token === undefined ? {} : { authorization: `Bearer ${this.#token}` }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    const answer: unknown = text === "" ? {} : parse(text);
    if (response.ok) return fromWire(answer);
    const problem = isObject(answer) ? answer : {};
    throw new DureError(String(problem["code"] ?? `HTTP_${response.status}`), String(problem["detail"] ?? `The server answered ${response.status}.`), {
      class: response.status === 404 ? "not-found" : response.status < 500 ? "forbidden" : "unavailable",
      ...(typeof problem["hint"] === "string" && { hint: problem["hint"] }),
    });
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return {};
  }
}
