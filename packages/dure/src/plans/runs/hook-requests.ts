import type { HookAccess } from "../../wire/hooks.ts";
import { createHash } from "node:crypto";
import type { Database } from "../../durable/database.ts";
import type { Notifications } from "../../durable/notify.ts";
import { storable } from "../../durable/storable.ts";
import type { Inbox } from "../../escalations/inbox.ts";
import type { Clock } from "../../kernel/clock.ts";
import { DureError } from "../../kernel/errors.ts";
import type { Plan } from "../plan.ts";
import type { Concealer } from "../workers/concealer.ts";
import type { AccessRequest } from "../workers/worker.ts";
import { channelTopic, messageEvent, wordsIn } from "../rows/channel-message.ts";
import { grantable } from "../ask/grants.ts";
import { hashHookToken } from "../rows/hook-token.ts";
import {
  ASKED_OPERATOR,
  isGranted,
  KNOWN_PATH,
  NO_PATH,
  pathQuestion,
} from "../ask/path-requests.ts";
import { emit } from "../rows/records.ts";
import { concealerOf } from "../agents/given-secrets.ts";
import type { PathGrant } from "../../wire/runs.ts";
import { takeSharedRequest } from "../ask/shared-requests.ts";

/** Questions of one step; as many as a model may ask. */
const MAX_QUESTIONS = 5;
/** Milliseconds that a question waits for its answer: somewhat longer than a partner has for it. */
const ANSWER_MS = 150_000;
/** Milliseconds between two looks: the end of a step is not announced. */
const LOOK_MS = 2_000;

interface AskingStep {
  readonly id: number;
  readonly run: string;
  readonly port: string;
  readonly try: number;
  readonly member: "implementer" | "tester" | "orchestrator";
  readonly tenant: string;
  readonly plan: string;
  readonly definition: Plan;
  readonly grants: readonly PathGrant[];
}

interface HookRequestParts {
  readonly database: Database;
  readonly notifications: Pick<Notifications, "publish" | "subscribe">;
  readonly inbox: Pick<Inbox, "raise" | "announce">;
  readonly clock: Clock;
  /** It has the values of what workers are given. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

/**
 * What agents and programs ask for with `dure hook`, since they have no tools of dure's: an answer
 * of their partner, a path of the operator. Any process may take it; the token of the running step
 * names the agent. The leader of the run answers.
 */
export class HookRequests {
  readonly #parts: HookRequestParts;

  constructor(parts: HookRequestParts) {
    this.#parts = parts;
  }

  /**
   * Asks the other member of the pair and waits for the answer; the same question of the same step
   * is one. Throws `HOOK_TOKEN_INVALID`, `MAX_HOOK_QUESTIONS`, `HOOK_UNANSWERED`. After an abort
   * the question stands; asked again it is answered once.
   */
  async ask(
    token: string,
    words: string,
    { signal }: { signal: AbortSignal },
  ): Promise<{ readonly answer: string }> {
    const { database, notifications } = this.#parts;
    const step = await this.#stepOf(token);
    const question = this.#concealerOf(step, token).conceal(words);
    const to = step.member === "implementer" ? "tester" : "implementer";
    const keys = `asked:${step.id}:`;
    const key = keys + createHash("sha256").update(question).digest("hex").slice(0, 32);
    const id = await database.transaction(async (tx) => {
      const [made] = await tx.query<{ id: number }>(ASK, [
        step.run,
        step.port,
        step.member,
        to,
        storable({ text: question }),
        key,
        keys,
        MAX_QUESTIONS,
      ]);
      if (!made) {
        const [known] = await tx.query<{ id: number }>(ASKED, [step.run, step.port, key]);
        return known?.id;
      }
      const { run, port, member } = step;
      await emit(tx, [messageEvent(run, { port, id: made.id, from: member, to, kind: "query" })]);

      return made.id;
    });
    if (id === undefined) {
      throw new DureError(
        "MAX_HOOK_QUESTIONS",
        `No more than ${MAX_QUESTIONS} questions are answered in one step.`,
        { class: "limit", hint: "Decide by yourself, and say at the end what you were unsure of." },
      );
    }
    const topic = channelTopic(step.run, step.port);
    notifications.publish(topic);
    notifications.publish("events");

    return { answer: await this.#answerTo(id, { token, to, topic }, signal) };
  }

  /**
   * Asks the operator for one path; what is allowed counts from the next try on. A file that is the
   * orchestrator's is asked of the merge. Throws `HOOK_TOKEN_INVALID`.
   */
  async requestAccess(token: string, words: AccessRequest): Promise<HookAccess> {
    const { database, inbox } = this.#parts;
    const step = await this.#stepOf(token);
    const request = this.#concealerOf(step, token).concealAll(words);
    const path = grantable(request.path);
    if (path === undefined) return NO_PATH;
    const asked = { ...request, path };
    if (isGranted(step.grants, asked)) return KNOWN_PATH;
    const noted = await takeSharedRequest(this.#parts, { ...step, plan: step.definition }, asked);
    if (noted) return noted;

    const question = pathQuestion(step, asked);
    const isGoing = await database.transaction(async (tx) => {
      // The end of the run closes its questions: none comes after it.
      if ((await tx.query(GOING, [step.run])).length === 0) return false;
      await inbox.raise(tx, [question]);
      return true;
    });
    if (!isGoing) throw tokenInvalid();
    inbox.announce();

    return ASKED_OPERATOR;
  }

  async #stepOf(token: string): Promise<AskingStep> {
    const [step] = await this.#parts.database.query<AskingStep>(ASKING_STEP, [
      hashHookToken(token),
    ]);
    if (step) return step;
    throw tokenInvalid();
  }

  /** Words are stored and read by people who may not have the secrets of the worker. */
  #concealerOf({ definition }: AskingStep, token: string): Concealer {
    return concealerOf(definition, this.#parts.env, [["DURE_HOOK_TOKEN", token]]);
  }

  async #answerTo(
    id: number,
    { token, to, topic }: { readonly token: string; readonly to: string; readonly topic: string },
    signal: AbortSignal,
  ): Promise<string> {
    const { database, notifications, clock } = this.#parts;
    let wake = Promise.withResolvers<void>();
    const cancel = notifications.subscribe(topic, () => wake.resolve());
    const stopLooking = clock.every(LOOK_MS, () => wake.resolve());
    const onAbort = (): void => wake.resolve();
    signal.addEventListener("abort", onAbort);
    const until = clock.monotonic() + ANSWER_MS;
    try {
      for (;;) {
        signal.throwIfAborted();
        const [answer] = await database.query<{ payload: unknown }>(ANSWERED, [id]);
        if (answer) return wordsIn(answer.payload);
        await this.#stepOf(token); // throws when the step that asked has ended
        if (clock.monotonic() >= until) {
          throw new DureError(
            "HOOK_UNANSWERED",
            `The ${to} did not answer within ${ANSWER_MS / 1_000} s.`,
            {
              class: "unavailable",
              hint: "Decide by yourself, and say at the end what you were unsure of.",
            },
          );
        }
        await wake.promise;
        wake = Promise.withResolvers();
      }
    } finally {
      cancel();
      stopLooking();
      signal.removeEventListener("abort", onAbort);
    }
  }
}

function tokenInvalid(): DureError {
  return new DureError("HOOK_TOKEN_INVALID", "No running step has this token.", {
    class: "unauthorized",
    hint: "It counts while the worker that it was given to works.",
  });
}

const GOING = {
  name: "plan.going",
  text: `select id from dure.plan_runs
    where id = $1 and finished_at is null
    for share`,
};
const ASKING_STEP = {
  name: "plan.asking_step",
  text: `select s.id, s.run, s.port, s.try, s.member, r.tenant, r.plan, r.definition, p.grants
    from dure.plan_steps s
    join dure.plan_runs r on r.id = s.run
    join dure.plan_ports p on p.run = s.run and p.id = s.port
    where s.hook_hash = $1 and s.status = 'running' and s.member is not null
      and r.finished_at is null`,
};
const ASK = {
  name: "plan.hook_ask",
  text: `insert into dure.plan_messages (run, port, sender, receiver, type, payload, key)
    select $1, $2, $3, $4, 'query', $5::jsonb, $6
    where (
      select count(*) from dure.plan_messages
      where run = $1 and port = $2 and starts_with(key, $7)
    ) < $8
    on conflict (run, port, key) do nothing
    returning id`,
};
const ASKED = {
  name: "plan.hook_asked",
  text: `
    select id
    from dure.plan_messages
    where run = $1 and port = $2 and key = $3`,
};
const ANSWERED = {
  name: "plan.hook_answered",
  text: `update dure.plan_messages set
      delivered_at = coalesce(delivered_at, clock_timestamp()),
      processed_at = coalesce(processed_at, clock_timestamp())
    where reply_to = $1 and type = 'ack'
    returning payload`,
};
