import { z } from "zod";

export interface Transfer {
  readonly to: string;
  /** Whole won, ≥ 1. */
  readonly amount: number;
  readonly memo?: string | undefined;
  /** `YYYY-MM-DD`; absent means at once. */
  readonly date?: string | undefined;
}

/** Both are definite: the money was booked once, or it never will be under this key. */
export type TransferAnswer =
  | { readonly status: "booked"; readonly transactionId: string }
  | { readonly status: "refused"; readonly code: BankRefusal; readonly message: string };

export type BankRefusal =
  | "INSUFFICIENT_FUNDS"
  | "LIMIT_EXCEEDED"
  | "UNKNOWN_ACCOUNT"
  | "INVALID_REQUEST";

/** What a transfer would meet now; amounts in won. Promises nothing. */
export type PreviewAnswer = { readonly balance: number; readonly limit: number } & (
  | { readonly possible: true }
  | { readonly possible: false; readonly code: Exclude<BankRefusal, "INVALID_REQUEST"> }
);

export type FindAnswer =
  | { readonly outcome: "happened"; readonly transactionId: string }
  | { readonly outcome: "not_happened" }
  | { readonly outcome: "unknown"; readonly cause: unknown };

/**
 * `not_sent`: the request never left, so nothing happened. `unknown`: it may have left; ask by
 * `find`.
 */
export class BankError extends Error {
  override readonly name = "BankError";
  readonly code: "BANK_UNREACHABLE" | "BANK_UNCLEAR";
  readonly outcome: "not_sent" | "unknown";

  constructor(outcome: "not_sent" | "unknown", message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.outcome = outcome;
    this.code = outcome === "not_sent" ? "BANK_UNREACHABLE" : "BANK_UNCLEAR";
  }
}

export interface BankClient {
  /**
   * One request, never repeated here. Throws a `BankError` that says whether the request may have
   * left; a signal that was aborted before the call throws its reason, one that aborts during it
   * leaves the transfer `unknown`.
   */
  transfer(
    transfer: Transfer,
    options: { readonly key: string; readonly signal?: AbortSignal | undefined },
  ): Promise<TransferAnswer>;
  /**
   * A look that books nothing. Throws a `BankError` where the bank does not say; a signal that was
   * aborted before the call throws its reason.
   */
  preview(
    transfer: Pick<Transfer, "to" | "amount">,
    options?: { readonly signal?: AbortSignal | undefined },
  ): Promise<PreviewAnswer>;
  /**
   * What became of a key, as the bank sees it now: a request that is still travelling is
   * `not_happened` yet. Never throws but on a signal aborted before.
   */
  find(key: string, options?: { readonly signal?: AbortSignal | undefined }): Promise<FindAnswer>;
}

export interface BankClientOptions {
  /** After which an answer is not waited for any longer, milliseconds. Default 10 000. */
  readonly timeoutMs?: number;
}

/** A client of the bank at `url`, the example's own or any other that keeps the same contract. */
export function bankClient(
  url: string,
  { timeoutMs = 10_000 }: BankClientOptions = {},
): BankClient {
  const base = url.replace(/\/+$/, "");
  const limited = (signal: AbortSignal | undefined): AbortSignal => {
    signal?.throwIfAborted();
    return AbortSignal.any([AbortSignal.timeout(timeoutMs), ...(signal ? [signal] : [])]);
  };

  return {
    async transfer(transfer, { key, signal }) {
      const init = {
        method: "POST",
        headers: { "content-type": "application/json", "idempotency-key": key },
        body: JSON.stringify(transfer),
        redirect: "error",
        signal: limited(signal),
      } as const;
      const { status, body } = await exchange(`${base}/transfers`, init).catch((error: unknown) => {
        throw withoutAnswer(error, base, `transfer ${key}`);
      });

      const booked = status === 201 || status === 200 ? bookedSchema.safeParse(body) : undefined;
      if (booked?.success) return { status: "booked", transactionId: booked.data.transaction_id };
      const refused = status === 422 || status === 400 ? refusedSchema.safeParse(body) : undefined;
      if (refused?.success) return { status: "refused", ...refused.data };
      throw new BankError(
        "unknown",
        `The bank at ${base} answered transfer ${key} with ${status}, which says neither booked nor refused.`,
      );
    },

    preview: async (transfer, { signal } = {}) => previewAt(base, transfer, limited(signal)),

    async find(key, { signal } = {}) {
      const limit = limited(signal);
      try {
        const { status, body } = await exchange(`${base}/transfers/${encodeURIComponent(key)}`, {
          redirect: "error",
          signal: limit,
        });
        // A proxy or a wrong address answers 404 too; only the bank's own word is a no.
        if (status === 404 && notFoundSchema.safeParse(body).success) {
          return { outcome: "not_happened" };
        }
        const booked = status === 200 ? bookedSchema.safeParse(body) : undefined;
        if (booked?.success) {
          return { outcome: "happened", transactionId: booked.data.transaction_id };
        }
        return {
          outcome: "unknown",
          cause: new BankError(
            "unknown",
            `The bank at ${base} answered the probe of ${key} with ${status}.`,
          ),
        };
      } catch (cause) {
        return { outcome: "unknown", cause };
      }
    },
  };
}

async function previewAt(
  base: string,
  { to, amount }: Pick<Transfer, "to" | "amount">,
  signal: AbortSignal,
): Promise<PreviewAnswer> {
  const { status, body } = await exchange(`${base}/previews`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ to, amount }),
    redirect: "error",
    signal,
  }).catch((error: unknown) => {
    throw withoutAnswer(error, base, "a preview");
  });
  const seen = status === 200 ? previewSchema.safeParse(body) : undefined;
  if (seen?.success) return seen.data;
  throw new BankError(
    "unknown",
    `The bank at ${base} answered a preview with ${status}, which says nothing.`,
  );
}

function withoutAnswer(error: unknown, base: string, what: string): BankError {
  const reason = reasonOf(error);
  if (wasNotSent(error)) {
    return new BankError("not_sent", `The bank at ${base} cannot be reached: ${reason}.`, error);
  }
  const message = `The bank at ${base} gave no answer to ${what}: ${reason}.`;
  return new BankError("unknown", message, error);
}

const bookedSchema = z.looseObject({
  transaction_id: z.string().min(1),
  status: z.literal("booked"),
});
const won = z.int().min(0);
const previewSchema = z.discriminatedUnion("possible", [
  z.object({ possible: z.literal(true), balance: won, limit: won }),
  z.object({
    possible: z.literal(false),
    code: z.enum(["INSUFFICIENT_FUNDS", "LIMIT_EXCEEDED", "UNKNOWN_ACCOUNT"]),
    balance: won,
    limit: won,
  }),
]);
const notFoundSchema = z.object({ code: z.literal("NOT_FOUND") });
const refusedSchema = z.object({
  code: z.enum(["INSUFFICIENT_FUNDS", "LIMIT_EXCEEDED", "UNKNOWN_ACCOUNT", "INVALID_REQUEST"]),
  message: z.string(),
});

async function exchange(
  url: string,
  init: RequestInit,
): Promise<{ status: number; body: unknown }> {
  const response = await fetch(url, init);
  const text = await response.text();
  return { status: response.status, body: jsonOf(text) };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * Failures before the first byte can leave: no name, no route, no listener, no connection in time.
 */
const NOT_SENT = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
]);

function wasNotSent(error: unknown): boolean {
  const cause = causeOf(error);
  return NOT_SENT.has(codeOf(cause) ?? "");
}

function causeOf(error: unknown): unknown {
  return error instanceof Error && error.cause !== undefined ? error.cause : error;
}

function codeOf(error: unknown): string | undefined {
  return typeof error === "object" &&
    error !== null &&
    "code" in error &&
    typeof error.code === "string"
    ? error.code
    : undefined;
}

function reasonOf(error: unknown): string {
  const cause = causeOf(error);
  return codeOf(cause) ?? (cause instanceof Error ? cause.message : String(cause));
}
