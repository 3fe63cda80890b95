/**
 * When the platform fails at a request: before it did anything, or after it did it and before it
 * could say so.
 */
export type FaultMoment = "nothing" | "doing it";

/** How a request fails. */
export type FakeFault =
  /** With a code of "JSON Error Codes", such as 160006. */
  | { readonly kind: "400"; readonly code: number }
  | { readonly kind: "401" }
  | { readonly kind: "403"; /** Default 50013, Missing Permissions. */ readonly code?: number }
  | { readonly kind: "404"; /** Default 10003, Unknown Channel. */ readonly code?: number }
  | { readonly kind: "429"; readonly retryAfterMs: number; readonly global?: boolean }
  | {
      readonly kind: "5xx";
      /** Default 502. */ readonly status?: number;
      readonly after?: FaultMoment;
    }
  /** No answer ever; the connection stays open until the client gives up. */
  | { readonly kind: "timeout"; readonly after?: FaultMoment }
  /** The connection is cut without an answer. */
  | { readonly kind: "cut"; readonly after?: FaultMoment };

/** Which requests a fault meets. */
export interface FaultTarget {
  /**
   * As in the request log, `/channels/{channel}/messages`, or a concrete path,
   * `/channels/123/messages`.
   */
  readonly route: string;
  readonly method?: string;
  /** A bot's name. */
  readonly bot?: string;
  /** Default 1. */
  readonly times?: number;
}

/** A fault that waits for its requests. */
export interface ArmedFault {
  /** How many requests it has hit. */
  readonly hits: number;
  /** Resolves when it hit the first one. */
  readonly reached: Promise<void>;
  cancel(): void;
}

/** The faults that are armed; the one that was armed first hits first. */
export class Faults {
  readonly #armed: Armed[] = [];

  arm(target: FaultTarget, fault: FakeFault): ArmedFault {
    const { promise, resolve } = Promise.withResolvers<void>();
    const armed: Armed = { target, fault, left: target.times ?? 1, hits: 0, reached: resolve };
    this.#armed.push(armed);

    return {
      get hits() {
        return armed.hits;
      },
      reached: promise,
      cancel: () => {
        armed.left = 0;
      },
    };
  }

  /** The fault for this request, if there is one; counts it. */
  take(request: {
    readonly method: string;
    readonly route: string;
    readonly path: string;
    readonly bot: string | undefined;
  }): FakeFault | undefined {
    const hit = this.#armed.find(
      ({ target, left }) =>
        left > 0 &&
        (target.route === request.route || target.route === request.path) &&
        (target.method === undefined || target.method === request.method) &&
        (target.bot === undefined || target.bot === request.bot),
    );

    if (hit === undefined) return undefined;

    hit.left--;
    hit.hits++;
    hit.reached();

    return hit.fault;
  }
}

interface Armed {
  readonly target: FaultTarget;
  readonly fault: FakeFault;
  readonly reached: () => void;
  left: number;
  hits: number;
}
