import type { Clock } from "../kernel/clock.ts";
import { DureError } from "../kernel/errors.ts";
import type {
  DureClient,
  Escalation,
  MergeOutcome,
  PlanRun,
  PortDetail,
  RunDetail,
  TranscriptLine,
  TreeDiff,
} from "../client/index.ts";
import { TASK_PORT, type TaskMode } from "./task-mode.ts";
import { LOOKS, mayPass, PAUSE_MS } from "./team-turns.ts";

/** Tasks that one session may begin. */
const MAX_TASKS = 100;
/** Tasks that a list of sessions looks at. */
const LISTED = 100;
/** Pages of a transcript that one look reads. */
const MAX_PAGES = 20;
const MAX_QUESTIONS = 20;

export interface TaskRunsOptions {
  readonly connect: () => Promise<DureClient>;
  readonly clock: Clock;
}

/** How a task stands, with what was not told yet. */
export interface TaskLook {
  readonly run: RunDetail;
  readonly port: PortDetail;
  readonly lines: readonly TranscriptLine[];
  /** What waits for a person. */
  readonly questions: readonly Escalation[];
}

/** A session with its newest task. */
export interface TaskSession {
  readonly id: string;
  readonly run: string;
  readonly updatedAt: number;
}

export interface NewTask {
  readonly session: string;
  readonly mode: TaskMode;
  readonly words: string;
  /** That the editor has opened. */
  readonly folder: string;
}

/**
 * Tasks of an editor's sessions as runs of the team. The session and a number are the key of a run:
 * so it is found again after any process was killed, and never begun twice.
 */
export class TaskRuns {
  readonly #options: TaskRunsOptions;

  constructor(options: TaskRunsOptions) {
    this.#options = options;
  }

  /** Those of a session, oldest first. */
  async of(session: string): Promise<readonly PlanRun[]> {
    const found: PlanRun[] = [];
    while (found.length < MAX_TASKS) {
      const key = keyOf(session, found.length + 1);
      const { items } = await this.#atTeam(({ plans }) => plans.runs({ key, limit: 1 }));
      const [run] = items;
      if (run === undefined) break;
      found.push(run);
    }

    return found;
  }

  /**
   * Sessions of the newest tasks that this caller has begun, whose ids begin like this; the newest
   * first.
   */
  async sessions(prefix: string): Promise<readonly TaskSession[]> {
    const { items } = await this.#atTeam(({ plans }) =>
      plans.runs({ keyPrefix: prefix, limit: LISTED }),
    );
    const found = new Map<string, TaskSession>();
    for (const { id: run, key = "", updatedAt } of items) {
      const id = sessionOf(key);
      if (id !== undefined && !found.has(id)) found.set(id, { id, run, updatedAt });
    }

    return [...found.values()];
  }

  async begin({ session, mode, words, folder }: NewTask): Promise<PlanRun> {
    const before = await this.of(session);
    if (before.length === MAX_TASKS) {
      throw new DureError("TASKS_TOO_MANY", `This session has begun ${MAX_TASKS} tasks.`, {
        class: "limit",
        hint: "Begin a new session.",
      });
    }
    const idempotencyKey = keyOf(session, before.length + 1);
    const request = { ...mode.planOf(words), repository: mode.repository ?? folder };

    return this.#atTeam(({ plans }) => plans.start(request, { idempotencyKey }));
  }

  run(id: string): Promise<RunDetail> {
    return this.#atTeam(({ plans }) => plans.run(id));
  }

  /** @param after The last line that was told */
  async look(id: string, after: number): Promise<TaskLook> {
    const run = await this.run(id);
    const port = await this.#atTeam(({ plans }) => plans.port(id, TASK_PORT));
    const lines = await this.#lines(id, after);
    const { items } = await this.#atTeam((client) =>
      client.escalations({ run: id, status: "open", limit: MAX_QUESTIONS }),
    );

    return { run, port, lines, questions: items.filter(({ step }) => step === "person") };
  }

  /** The last line that there is. */
  async newestLine(id: string): Promise<number> {
    const before = Number.MAX_SAFE_INTEGER;
    const { lines } = await this.#atTeam(({ plans }) =>
      plans.transcript(id, TASK_PORT, { before, limit: 1 }),
    );

    return lines.at(-1)?.id ?? 0;
  }

  async #lines(id: string, after: number): Promise<readonly TranscriptLine[]> {
    const all: TranscriptLine[] = [];
    for (let last = after, page = 0; page < MAX_PAGES; page++) {
      const { lines, next, hasMore } = await this.#atTeam(({ plans }) =>
        plans.transcript(id, TASK_PORT, { after: last }),
      );
      all.push(...lines);
      last = next;
      if (!hasMore) break;
    }

    return all;
  }

  /** A run that is over, or is being cancelled, stays as it is. */
  async cancel(id: string): Promise<void> {
    await this.#unlessDecided(({ plans }) => plans.cancel(id));
  }

  /** Another person may have answered it. */
  async answer(escalation: string, value: string): Promise<void> {
    await this.#unlessDecided((client) => client.answerEscalation(escalation, { value }));
  }

  diff(id: string): Promise<TreeDiff> {
    return this.#atTeam(({ plans }) => plans.diff(id));
  }

  /** What is merged already stays so. */
  merge(id: string): Promise<MergeOutcome> {
    return this.#atTeam(({ plans }) => plans.merge(id));
  }

  async #unlessDecided(work: (client: DureClient) => Promise<unknown>): Promise<void> {
    await this.#atTeam(work).catch((error: unknown) => {
      if (!(error instanceof DureError) || error.class !== "conflict") throw error;
    });
  }

  /** Asks a team that was started again once more: all that is asked here may be repeated. */
  async #atTeam<Answer>(work: (client: DureClient) => Promise<Answer>): Promise<Answer> {
    for (let look = 1; ; look++) {
      try {
        return await work(await this.#options.connect());
      } catch (error) {
        if (!mayPass(error) || look === LOOKS) throw error;
        await this.#options.clock.sleep(PAUSE_MS);
      }
    }
  }
}

function sessionOf(key: string): string | undefined {
  return /^(.+)-\d{1,3}$/u.exec(key)?.[1];
}

function keyOf(session: string, number: number): string {
  return `${session}-${number}`;
}
