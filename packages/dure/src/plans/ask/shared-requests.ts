import { createHash } from "node:crypto";
import type { Database, Transaction } from "../../durable/database.ts";
import type { Notifications } from "../../durable/notify.ts";
import { isObject } from "../../kernel/json.ts";
import { orchestratorsFiles } from "../plan-ownership.ts";
import type { Plan } from "../plan.ts";
import type { AccessRequest } from "../workers/worker.ts";
import { sendFromOutside } from "../rows/outside-message.ts";
import type { Member } from "../../kernel/plans.ts";

/**
 * A change of a shared file that a port needs; the orchestrator makes it at the merge, once for all
 * ports that asked.
 */
export interface SharedRequest {
  readonly id: number;
  readonly port: string;
  readonly path: string;
  readonly why: string;
}

/** How keys of such requests begin. */
const KEYS = "shared:";
/** Of one port. A port that needs more should own the file. */
const MAX_REQUESTS = 50;

/**
 * Takes the request to write a file that is the orchestrator's: it goes to the merge, and no person
 * is asked. The same request is one. Undefined: the file is not the orchestrator's. Any process may
 * take it. Throws `CHANNEL_FULL`.
 */
export async function takeSharedRequest(
  parts: { readonly database: Database; readonly notifications: Pick<Notifications, "publish"> },
  asking: {
    readonly run: string;
    readonly port: string;
    readonly member: Member;
    readonly plan: Pick<Plan, "workers" | "ports">;
  },
  request: AccessRequest,
): Promise<{ readonly granted: false; readonly note: string } | undefined> {
  if (
    request.wants !== "own" ||
    asking.member === "orchestrator" ||
    !orchestratorsFiles(asking.plan)(request.path)
  ) {
    return undefined;
  }
  const why = request.why.slice(0, 2_000);
  const hash = createHash("sha256").update(`${request.path}\n${why}`).digest("hex");
  await sendFromOutside(parts, {
    run: asking.run,
    port: asking.port,
    from: asking.member,
    to: "orchestrator",
    type: "query",
    payload: { path: request.path, text: why },
    key: `${KEYS}${hash.slice(0, 32)}`,
    most: { keys: KEYS, count: MAX_REQUESTS },
  });
  const note = [
    `${request.path} is needed by all,`,
    "so the orchestrator changes it, once, when everything is merged: what you asked for is noted.",
    "Leave the file alone, and go on without it.",
  ];
  return { granted: false, note: note.join(" ") };
}

/** What ports of a run have asked for, in the order of the asking. */
export async function sharedRequests(
  database: Database,
  run: string,
): Promise<readonly SharedRequest[]> {
  const rows = await database.query<{ id: number; port: string; payload: unknown }>(REQUESTS, [
    run,
    KEYS,
  ]);
  return rows.flatMap(({ id, port, payload }) => {
    if (!isObject(payload) || typeof payload["path"] !== "string") return [];
    const why = typeof payload["text"] === "string" ? payload["text"] : "";
    return [{ id, port, path: payload["path"], why }];
  });
}

/** The orchestrator has read them. */
export async function sharedRequestsRead(
  tx: Transaction,
  requests: readonly SharedRequest[],
): Promise<void> {
  if (requests.length > 0) await tx.query(READ, [requests.map(({ id }) => id)]);
}

const REQUESTS = {
  name: "plan.shared_requests",
  text: `select id, port, payload from dure.plan_messages
    where run = $1 and receiver = 'orchestrator' and starts_with(key, $2)
    order by id
    limit 1000`,
};
const READ = {
  name: "plan.shared_requests_read",
  text: `update dure.plan_messages set
      delivered_at = coalesce(delivered_at, clock_timestamp()),
      processed_at = coalesce(processed_at, clock_timestamp())
    where id = any($1)`,
};
