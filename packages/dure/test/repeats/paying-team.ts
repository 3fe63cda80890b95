import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { TestDatabase } from "../../src/durable/test-database.ts";
import { silentLogger } from "../../src/kernel/logger.ts";
import { readTeam } from "../../src/team/config.ts";
import { defineTeam } from "../../src/team/define-team.ts";
import { readEnvironment } from "../../src/team/environment.ts";
import { startTeam } from "../../src/team/start.ts";
import { payingModel, tillOf, type FailPoint, type Paying } from "./paying.ts";

/** A team with the service `till`, of which the test decides where its turns fail. */
export interface PayingTeam extends AsyncDisposable {
  readonly url: string;
  readonly token: string;
}

/** What a team pays and where it fails; several teams may share it. */
export class Till implements Paying {
  readonly booked: string[] = [];
  /** Calls of a model so far. */
  calls = 0;
  /** Waits before a failure, or before it does not fail. */
  wait: () => Promise<void> = async () => undefined;
  readonly #point: FailPoint | undefined;
  readonly #status: number;
  #left: number;

  /** @param times Infinity: for ever */
  constructor(point?: FailPoint, status = 401, times = Infinity) {
    this.#point = point;
    this.#status = status;
    this.#left = times;
  }

  book(payee: string): void {
    this.booked.push(payee);
  }

  async failure(point: FailPoint): Promise<number | undefined> {
    if (point !== "in") this.calls += 1;
    if (point !== this.#point) return undefined;
    await this.wait();
    if (this.#left <= 0) return undefined;
    this.#left -= 1;
    return this.#status;
  }
}

const TOKEN = "paying-admin-token-0123456789";

export async function startPayingTeam(
  database: TestDatabase,
  till: Till,
  { asks, ...limits }: { readonly repeats?: string; readonly asks?: boolean } = {},
): Promise<PayingTeam> {
  await using stack = new AsyncDisposableStack();
  const folder = await mkdtemp(path.join(tmpdir(), "dure-paying-team-"));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const options = defineTeam({
    name: "paying",
    locale: "en",
    model: "offline:payer",
    offlineModels: [payingModel(till)],
    services: { till: tillOf(till, asks) },
    // The client repeats the call; the turn itself does not wait for the model.
    limits: { patience: { chat: "0s" }, ...limits },
  });
  const environment = readEnvironment({
    DATABASE_URL: database.url,
    PORT: "0",
    DURE_TOKEN: TOKEN,
    DEV_MODE: "true",
  });
  const given = { logger: silentLogger };
  const team = await startTeam(await readTeam(options, folder), environment, given);
  stack.defer(() => team.stop());
  const kept = stack.move();

  return { url: team.url, token: TOKEN, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}
