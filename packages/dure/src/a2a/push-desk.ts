import { createHash } from "node:crypto";
import { DureError } from "../kernel/errors.ts";
import type { A2aPush } from "../wire/a2a.ts";
import { assertPublic } from "../engine/agent/public-post.ts";
import type { Push, PushRows } from "./push-rows.ts";

/** Where receivers inside the network are named. */
export const PUSH_TO = "a2a.pushTo";

/** Push notifications of tasks that the caller may see: who asks is looked at before. */
export class PushDesk {
  readonly #rows: PushRows;
  readonly #allowed: ReadonlySet<string>;

  constructor(rows: PushRows, allowed: ReadonlySet<string>) {
    this.#rows = rows;
    this.#allowed = allowed;
  }

  /** The same address without an id is the same one. */
  async put(taskId: string, asked: A2aPush): Promise<object> {
    assertPublic(asked.url, { allowed: this.#allowed, setting: PUSH_TO });
    const { url, token, authentication } = asked;
    const id = asked.id ?? createHash("sha256").update(url).digest("hex").slice(0, 32);
    const { scheme, credentials } = authentication ?? {};
    const push = { taskId, id, url, secrets: { token, scheme, credentials } };
    if (!(await this.#rows.put(push))) throw tooMany();

    return shown(push);
  }

  async list(taskId: string): Promise<object> {
    return { configs: (await this.#rows.list(taskId)).map(shown), nextPageToken: "" };
  }

  async get(taskId: string, id: string): Promise<object> {
    const found = (await this.#rows.list(taskId)).find((push) => push.id === id);
    if (!found) throw unknown();
    return shown(found);
  }

  async remove(taskId: string, id: string): Promise<null> {
    if (!(await this.#rows.remove(taskId, id))) throw unknown();
    return null;
  }
}

/** Without its secrets. */
function shown({ taskId, id, url, secrets: { scheme } }: Push): object {
  return { taskId, id, url, authentication: scheme === undefined ? undefined : { scheme } };
}

function unknown(): DureError {
  return new DureError("PUSH_UNKNOWN", "The task has no such push notification.", {
    class: "not-found",
  });
}

function tooMany(): DureError {
  return new DureError("PUSHES_TOO_MANY", "The task has 10 push notifications.", {
    class: "conflict",
    hint: "Remove one of them.",
  });
}
