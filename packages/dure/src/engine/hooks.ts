import { DureError } from "../kernel/errors.ts";
import type { Logger } from "../kernel/logger.ts";
import type { Json } from "../kernel/json.ts";
import type { Transaction } from "../durable/database.ts";
import type { OutsideHandler } from "../durable/outbox.ts";
import type { AnyService, LeafService } from "./combine.ts";
import type { HookContext, HookHandler, Service } from "./service.ts";
import { AFTER_TURN } from "./turn-end.ts";

interface HookPayload {
  readonly service: string;
  readonly type: string;
  readonly data: unknown;
  readonly session: string;
  readonly turn: string;
}

/**
 * Delivers the hooks of finished turns: at least once, in the order of their session, with the key `<turn>.<index>`.
 * A `transactional` hook writes in the transaction that marks it as delivered, so exactly once; it stands in the same order.
 * A hook that nobody handles is done at once: it is information for clients, who saw it in `DONE`.
 */
export class HookDelivery {
  #services: ReadonlyMap<string, Service>;
  readonly #logger: Logger;
  readonly #lease: AbortSignal;

  constructor(options: { services: readonly AnyService[]; logger: Logger; lease: AbortSignal }) {
    this.#services = byName(options.services);
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
      send: async (payload, { key, signal }) => {
        await this.#deliver(hookOf(payload), { key, signal });
      },
      rows: {
        holds: (payload) => this.#isTransactional(hookOf(payload)),
        run: async (payload, { key, signal, tx }) => {
          await this.#deliver(hookOf(payload), { key, signal, tx: { query: (text, values) => tx.query({ text }, values) } });
        },
      },
      onGivenUp: async ({ key, attempts, error }: { key: string; attempts: number; error: unknown }, tx: Transaction) => {
        this.#logger.error({ key, attempts }, "a hook was given up; it stays in the outbox as failed");
        await tx.query({ text: "select dure.emit($1)" }, [
          JSON.stringify([{ type: "hook.failed", role: "system", turn: key.slice(0, key.lastIndexOf(".")), data: { key, attempts, error: String(error) } }]),
        ]);
      },
    };
  }

  #isTransactional({ service, type }: HookPayload): boolean {
    const handler = type === AFTER_TURN ? undefined : this.#services.get(service)?.hooks?.[type];
    return typeof handler === "object" && handler.transactional === true;
  }

  async #deliver(hook: HookPayload, { key, signal, tx }: Pick<HookContext, "key" | "signal" | "tx">): Promise<void> {
    const service = this.#services.get(hook.service);
    if (!service) throw new DureError("SERVICE_UNKNOWN", `The service ${hook.service} of the hook ${key} is not here.`, { class: "unavailable" });
    const context: HookContext = { key, turn: hook.turn, session: hook.session, signal: AbortSignal.any([signal, this.#lease]), ...(tx && { tx }) };
    if (hook.type === AFTER_TURN) {
      await service.afterTurn?.({ session: hook.session, turn: hook.turn, message: (hook.data as { message: string }).message }, context);
      return;
    }
    const handler = service.hooks?.[hook.type];
    if (!handler) return;
    await handleOf(handler)(hook.data, context);
  }
}

/** Deliveries of one hook before it is given up. Source: our choice; with doubling pauses about 17 minutes. */
const HOOK_ATTEMPTS = 10;

function hookOf(payload: Json): HookPayload {
  return payload as unknown as HookPayload;
}

function handleOf(handler: HookHandler | HookHandler["handle"]): HookHandler["handle"] {
  return typeof handler === "function" ? handler : (data, context) => handler.handle(data, context);
}

function leavesOf(service: AnyService): readonly Service[] {
  const leaves: readonly LeafService[] = service.kind === "combined" ? [...service.services.values()] : [service];
  return leaves.filter((leaf) => leaf.kind === "service");
}

function byName(services: readonly AnyService[]): ReadonlyMap<string, Service> {
  return new Map(services.flatMap(leavesOf).map((service) => [service.name, service]));
}
