import { createHttp, readJson } from "../client/http.ts";
import type { Principal } from "../server/access.ts";
import type { WebHandler } from "../server/web-handler.ts";
import { deedRequest, SCOPE_OF_DEED, type HookDeed } from "./hook-deed.ts";

/** One thing that is done without a person. */
export interface Carried {
  readonly who: Doer;
  readonly deed: HookDeed;
  /** The same for the same thing: it is done once. */
  readonly key: string;
  /** What the text of the deed may quote. */
  readonly payload: unknown;
  readonly signal?: AbortSignal | undefined;
}

interface Doer {
  /** Owner of what is done. */
  readonly tenant: string;
  /** In the audit log. */
  readonly name: string;
  /** In a room. */
  readonly person: string;
}

/** Ids of what was begun. */
export interface Begun {
  readonly message_id?: unknown;
  readonly job_id?: unknown;
  readonly run_id?: unknown;
}

/**
 * A request to the server itself, with the rights of its deed alone. Throws what the API refuses.
 */
export async function carryOut(carried: Carried, web: WebHandler): Promise<Begun> {
  const { who, deed, key, payload, signal } = carried;
  const { path, body } = deedRequest(deed, key, payload);
  const asks = principalOf(who, deed);
  const http = createHttp({
    baseUrl: "http://localhost",
    fetch: (input, init) => web.fetch(new Request(input, init), asks),
  });
  const answer = await http.request(path, {
    method: "POST",
    headers: { "content-type": "application/json", "idempotency-key": key },
    body: JSON.stringify(body),
    signal: signal ?? null,
  });

  return idsOf(await readJson(answer));
}

function principalOf({ tenant, name, person }: Doer, deed: HookDeed): Principal {
  return {
    caller: { tenant, name },
    person,
    scopes: [SCOPE_OF_DEED[deed.kind]],
    proof: "bearer",
  };
}

/** What was begun, and nothing else of it. */
function idsOf(answer: unknown): Begun {
  const { message_id, job_id, id } = answer as Readonly<Record<string, unknown>>;
  return { message_id, job_id, run_id: id };
}
