import type { Locale } from "../../kernel/locales.ts";
import { DureError, messageOf } from "../../kernel/errors.ts";
import type { Logger } from "../../kernel/logger.ts";
import { isObject, type Json } from "../../kernel/json.ts";
import { titled, type NewEscalation } from "../../kernel/escalation.ts";
import { tenantOfKey } from "../../kernel/tenant.ts";
import type { OutsideHandler } from "../../durable/outbox-handler.ts";
import { storable } from "../../durable/storable.ts";
import { raiseEscalations } from "../../escalations/inbox.ts";
import { leavesOf, type AnyService, type LeafService } from "../service/combine.ts";
import type { HookContext, HookHandler } from "../service/service.ts";
import { STOP_ELSEWHERE, stopElsewhere, type StopElsewhere } from "../turn/pass-through.ts";
import { localeOf } from "../texts.ts";
import { AFTER_TURN } from "../turn/done-record.ts";
import type { NewPlatformEvent } from "../../wire/events.ts";

interface HookPayload {
  readonly service: string;
  readonly type: string;
  readonly data: unknown;
  readonly session: string;
  readonly turn: string;
}

/**
 * Delivers the hooks of finished turns: at least once, in the order of their session, with the key
 * `<turn>.<index>`. A `transactional` hook writes in the transaction that marks it as delivered, so
 * exactly once; it stands in the same order. A hook without a handler is done at once: it is
 * information for clients, which `DONE` carries.
 */
export class HookDelivery {
  #services: ReadonlyMap<string, LeafService>;
  readonly #logger: Logger;
  readonly #lease: AbortSignal;
  readonly #locale: string;

  constructor(options: {
    services: readonly AnyService[];
    logger: Logger;
    lease: AbortSignal;
    /** Of the team: in it people are told of a hook that was given up. Default `ko`. */
    locale?: string | undefined;
  }) {
    this.#services = byName(options.services);
    this.#locale = options.locale ?? "ko";
    this.#logger = options.logger;
    this.#lease = options.lease;
  }

  /** Others from now on. */
  redefine(services: readonly AnyService[]): void {
    this.#services = byName(services);
  }

  get handler(): OutsideHandler {
    return {
      policy: { attempts: HOOK_ATTEMPTS },
      send: async (payload, { key, attempt, signal }) => {
        const hook = hookOf(payload);
        if (hook.type === STOP_ELSEWHERE) await this.#stopElsewhere(hook, { attempt, signal });
        else await this.#deliver(hook, { key, signal });
      },
      rows: {
        holds: (payload) => this.#isTransactional(hookOf(payload)),
        run: async (payload, { key, signal, tx }) => {
          await this.#deliver(hookOf(payload), {
            key,
            signal,
            tx: { query: (text, values) => tx.query({ text }, values) },
          });
        },
      },
      classify: (error) => (error instanceof NotToldError ? { class: "permanent" } : undefined),
      onGivenUp: async ({ key, attempts, error, payload }, tx) => {
        const hook = hookOf(payload);
        if (hook.type === STOP_ELSEWHERE) {
          return this.#logger.warn(
            { key, attempts, service: hook.service, turn: hook.turn },
            notToldWords(hook),
          );
        }
        this.#logger.error(
          { key, attempts, service: hook.service, type: hook.type },
          "a hook was given up; it stays in the outbox as failed",
        );
        const data = {
          key,
          attempts,
          error:
            isObject(error) && typeof error["message"] === "string"
              ? error["message"]
              : messageOf(error),
        };
        await tx.query({ text: "select dure.emit($1)" }, [
          storable([
            {
              type: "hook.failed",
              role: "system",
              session: hook.session,
              turn: hook.turn,
              service: hook.service,
              data,
            } satisfies NewPlatformEvent,
          ]),
        ]);
        const [session] = await tx.query<{ tenant: string }>(
          { text: "select tenant from dure.sessions where id = $1" },
          [hook.session],
        );
        const words = GIVEN_UP[localeOf(this.#locale)];
        await raiseEscalations(tx, [givenUpEscalation(hook, data, { session, words })]);
      },
    };
  }

  #isTransactional({ service, type }: HookPayload): boolean {
    const leaf = this.#services.get(service);
    const handler =
      type === AFTER_TURN || leaf?.kind !== "service" ? undefined : leaf.hooks?.[type];
    return typeof handler === "object" && handler.transactional === true;
  }

  async #deliver(
    hook: HookPayload,
    { key, signal, tx }: Pick<HookContext, "key" | "signal" | "tx">,
  ): Promise<void> {
    const service = this.#services.get(hook.service);
    if (service?.kind !== "service") {
      throw new DureError(
        "SERVICE_UNKNOWN",
        `The service ${hook.service} of the hook ${key} is not here.`,
        { class: "unavailable" },
      );
    }
    const context: HookContext = {
      key,
      turn: hook.turn,
      session: hook.session,
      signal: AbortSignal.any([signal, this.#lease]),
      tx,
    };
    if (hook.type === AFTER_TURN) {
      await service.afterTurn?.(
        {
          session: hook.session,
          turn: hook.turn,
          message: (hook.data as { message: string }).message,
        },
        context,
      );
      return;
    }
    const handler = service.hooks?.[hook.type];
    if (!handler) return;
    await handleOf(handler)(hook.data, context);
  }

  /**
   * What comes later in its session does not wait for it as long as for a hook: a turn there ends
   * by itself, too.
   */
  async #stopElsewhere(
    { service, data }: HookPayload,
    { attempt, signal }: { attempt: number; signal: AbortSignal },
  ): Promise<void> {
    const remote = this.#services.get(service);
    try {
      if (remote?.kind !== "remote") {
        throw new DureError("SERVICE_UNKNOWN", `The remote service ${service} is not here.`, {
          class: "unavailable",
        });
      }
      await stopElsewhere(remote, data as StopElsewhere, { signal });
    } catch (error) {
      throw attempt < STOP_ATTEMPTS ? error : new NotToldError(service, { cause: error });
    }
  }
}

function notToldWords({ service, data }: HookPayload): string {
  return (data as StopElsewhere).question === undefined
    ? `the turn on ${service} could not be stopped there; it ends by itself`
    : `${service} could not be told that its question was left; the next message tells it`;
}

/** Another server was not told of a stop. */
class NotToldError extends Error {
  constructor(service: string, options: { cause: unknown }) {
    super(`${service} could not be told of a stop.`, options);
  }
}

/**
 * Deliveries of one hook before it is given up and people are told. With
 * doubling pauses about 35 minutes, so that what it needs may be away for 30 as for other work.
 */
const HOOK_ATTEMPTS = 12;
/**
 * Times that another server is told of a stop: with doubling pauses within a minute.
 */
const STOP_ATTEMPTS = 6;

const GIVEN_UP = {
  ko: {
    title: ({ service, type }: HookPayload, attempts: number) =>
      `“${service}”의 후속 작업 ${type}을(를) ${attempts}번 시도했지만 처리하지 못했어요.`,
    seen: "확인함",
  },
  en: {
    title: ({ service, type }: HookPayload, attempts: number) =>
      `The hook ${type} of ${service} was not delivered in ${attempts} tries.`,
    seen: "Seen",
  },
} as const;

type GivenUpWords = (typeof GIVEN_UP)[Locale];

/** The turn is done, but its hook was not delivered. */
function givenUpEscalation(
  hook: HookPayload,
  { key, attempts, error }: { key: string; attempts: number; error: string },
  { session, words }: { session: { tenant: string } | undefined; words: GivenUpWords },
): NewEscalation {
  return {
    type: "delivery",
    severity: "high",
    subject: `hook/${key}`,
    tenant: session?.tenant ?? tenantOfKey(hook.session),
    source: { session: hook.session, turn: hook.turn, service: hook.service },
    ...titled(words.title(hook, attempts)),
    context: { key, type: hook.type, because: error, data: hook.data ?? null },
    suggestedActions: [{ value: "seen", code: "seen", label: words.seen }],
  };
}

function hookOf(payload: Json): HookPayload {
  return payload as unknown as HookPayload;
}

function handleOf(handler: HookHandler | HookHandler["handle"]): HookHandler["handle"] {
  return typeof handler === "function" ? handler : (data, context) => handler.handle(data, context);
}

function byName(services: readonly AnyService[]): ReadonlyMap<string, LeafService> {
  return new Map(services.flatMap(leavesOf).map((service) => [service.name, service]));
}
