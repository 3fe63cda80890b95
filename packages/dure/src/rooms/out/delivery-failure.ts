/** What could not be delivered: recorded, and told to operators and to the agent that asked. */

import type { Transaction } from "../../durable/database.ts";
import type { FailureVerdict, GivenUp } from "../../durable/outbox-handler.ts";
import { codeOf } from "../../kernel/errors.ts";
import { ChannelError, type ChannelAdapter, type ChannelFailure } from "../channel-adapter.ts";
import { type Departure, dropParts, failMessage, type StoredError } from "./outgoing.ts";
import { GUARD_STOPPED } from "../decide/guard-stop.ts";
import { endEmptyThread } from "./empty-thread.ts";
import { enqueueNotice, partKey } from "./notices.ts";
import type { Place } from "../place.ts";
import { roomReports, type Report } from "./reports.ts";
import type { RoomEscalation, StoredMessage } from "../room-store.ts";
import type { RoomsSetting } from "../talk.ts";
import { roomTexts, THREAD_NOT_MADE } from "../texts.ts";
import { UNSURE, UNSURE_ACTIONS, UNSURE_THREAD_ACTIONS } from "./unsure.ts";

/** One message whose delivery was given up. */
interface FailedMessage {
  readonly adapter: ChannelAdapter;
  readonly message: StoredMessage;
  readonly place: Place;
  readonly given: GivenUp;
  readonly error: StoredError;
  readonly failure: ChannelFailure | undefined;
}

/** Records what could not be delivered, and tells the operators and the asking agent. */
export class DeliveryFailures {
  readonly #setting: RoomsSetting;

  constructor(setting: RoomsSetting) {
    this.#setting = setting;
  }

  /**
   * A post or thread failed for good, or its outcome is unknown: the message says so, its later
   * parts stay, and an operator is told.
   */
  async record(adapter: ChannelAdapter, given: GivenUp, tx: Transaction): Promise<void> {
    const departure = given.payload as unknown as Departure;
    const error = errorOf(given);
    // The outbox has said so in the log and in an event.
    if (departure.kind !== "thread" && departure.kind !== "post") return;
    if (departure.kind === "thread") {
      return this.#failThread(adapter, departure.place, given, tx);
    }
    await this.#failMessage(adapter, { id: departure.message, given, error }, tx);
    for (let part = departure.part + 1; part < departure.parts; part++) {
      await tx.query(DROP_PART, [partKey(departure.message, part)]);
    }
  }

  async #failThread(
    adapter: ChannelAdapter,
    place: string,
    given: GivenUp,
    tx: Transaction,
  ): Promise<void> {
    const error = errorOf(given);
    const why = error.message ?? given.outcome;
    await tx.query(CLOSE, [place, `${THREAD_NOT_MADE}${why}`]);
    if (isUnsure(given, error)) await this.#askAboutThread(adapter, place, given, tx);

    const messages = await tx.query<{ id: string }>(QUEUED_IN, [place]);
    for (const { id } of messages) {
      await this.#failMessage(adapter, { id, given, error }, tx);
      await dropParts(tx, id, NO_THREAD);
    }
  }

  /**
   * One question for the thread, whatever waits for it. Asked again when what a person said did not
   * find it.
   */
  async #askAboutThread(
    adapter: ChannelAdapter,
    placeId: string,
    given: GivenUp,
    tx: Transaction,
  ): Promise<void> {
    const { store, locale } = this.#setting;
    const place = await store.place(placeId, tx);
    if (!place) return;
    const error = errorOf(given);
    await store.escalate(tx, {
      subject: `${UNSURE}${place.id}`,
      suggestedActions: UNSURE_THREAD_ACTIONS,
      type: "delivery",
      severity: "high",
      tenant: place.tenant,
      source: { room: place.id },
      ...roomReports(locale).unsureThread(place.name, error.message ?? ""),
      context: {
        place: place.id,
        account: place.owner,
        adapter: adapter.name,
        code: error.code ?? null,
        outcome: given.outcome,
        attempts: given.attempts,
        outbox: given.key,
      },
    });
  }

  async #failMessage(
    adapter: ChannelAdapter,
    { id, given, error }: { id: string; given: GivenUp; error: StoredError },
    tx: Transaction,
  ): Promise<void> {
    const { store } = this.#setting;
    const message = await store.message(id, tx);
    const place = message && (await store.place(message.place, tx));
    if (!message || !place) return;

    const failure = failureOf(error.code);
    const failed: FailedMessage = { adapter, message, place, given, error, failure };
    // What a guard stops is no failure that people have to see to.
    if (error.code !== GUARD_STOPPED) await this.#report(failed, tx);
    await failMessage(tx, { store }, message, { outcome: given.outcome, error });
    await this.#closeWhatIsGone(failed, tx);
    const why = error.message ?? given.outcome;
    await endEmptyThread(tx, this.#setting, place, { failure, why });
    await this.#withdraw(message, error, tx);
  }

  /**
   * Tells the operators. What waits for a thread whose outcome is unknown is asked about once, with
   * the thread.
   */
  async #report(failed: FailedMessage, tx: Transaction): Promise<void> {
    const { store } = this.#setting;
    const { adapter, message, place, given, error } = failed;
    const unsure = isUnsure(given, error);
    const isAskedWithThread = unsure && (given.payload as { kind?: string }).kind === "thread";
    if (isAskedWithThread) return;

    const what = unsure ? this.#unsure(failed) : await this.#undelivered(failed, tx);
    await store.escalate(tx, {
      ...what,
      type: failed.failure === "credential" ? "account" : "delivery",
      severity: severityOf(failed),
      tenant: place.tenant,
      source: { room: place.id },
      context: {
        message: message.id,
        place: place.id,
        account: message.author,
        adapter: adapter.name,
        code: error.code ?? null,
        outcome: given.outcome,
        attempts: given.attempts,
        outbox: unsure ? given.key : undefined,
      },
    });
  }

  /** Asks a person whether it arrived. */
  #unsure({ message, place, error }: FailedMessage): ReportedMessage {
    const author = this.#setting.directory.nameOf(message.author);
    const reports = roomReports(this.#setting.locale);
    return {
      subject: `${UNSURE}${message.id}`,
      suggestedActions: UNSURE_ACTIONS,
      ...reports.unsure(author, place.name, error.message ?? ""),
    };
  }

  async #undelivered(failed: FailedMessage, tx: Transaction): Promise<ReportedMessage> {
    const { adapter, message, place, error, failure } = failed;
    const asks = await askedBy(message, tx);
    const author = this.#setting.directory.nameOf(message.author);
    const reports = roomReports(this.#setting.locale);
    return {
      subject: subjectOf(failure, message, place, { adapter: adapter.name, asks }),
      ...reports.undelivered(author, place.name, error.message ?? "", failure),
    };
  }

  /** An account that was refused, or a thread that the platform does not know any more. */
  async #closeWhatIsGone(failed: FailedMessage, tx: Transaction): Promise<void> {
    const { adapter, message, place, error, failure } = failed;
    if (failure === "credential") {
      const account = this.#setting.directory.account(adapter.name, message.author);
      await tx.query(REFUSED, [adapter.name, account?.id ?? message.author, error.message ?? null]);
    }
    if (failure === "not-found" && place.kind !== "channel") {
      await tx.query(CLOSE, [place.id, error.message ?? "the platform does not know it any more"]);
    }
  }

  /** What could not be asked is no open request; the place where it began is told. */
  async #withdraw(message: StoredMessage, error: StoredError, tx: Transaction): Promise<void> {
    if (message.request === null) return;
    const { store, directory, locale } = this.#setting;
    const [request] = await tx.query<{
      to_agent: string;
      from_agent: string;
      origin: { place?: string; session?: string };
    }>(WITHDRAW, [message.request, message.id]);
    if (!request) return;
    await tx.query(FORGET_CALL, [request.from_agent, request.to_agent]);
    await store.emit(tx, [
      {
        type: "collaborate.failed",
        role: "delegation",
        agent: request.from_agent,
        session: request.origin.session,
        data: { request: message.request, to: request.to_agent, why: error.message ?? null },
      },
    ]);
    if (request.origin.place === undefined || request.origin.place === message.place) return;
    const asked = directory.nameOf(request.to_agent);
    await enqueueNotice(tx, {
      place: request.origin.place,
      author: request.from_agent,
      text: roomTexts(locale).deliveryFailed(asked, error.message ?? "?"),
    });
  }
}

type ReportedMessage = Report & Pick<RoomEscalation, "subject" | "suggestedActions">;

/** What was looked for and is still unsure has failed with no error of its own. */
function errorOf(given: GivenUp): StoredError {
  const unsure = {
    code: "DELIVERY_UNSURE",
    message: "it is unknown whether it has arrived",
  };
  return given.error ?? unsure;
}

function severityOf({ failure, given }: FailedMessage): RoomEscalation["severity"] {
  if (failure === "credential") return "critical";
  return given.outcome === "unknown" ? "high" : "medium";
}

/** The platform's classes in the outbox's. Source: docs/spec/collaboration §6. */
const VERDICTS = {
  permission: "permanent",
  "not-found": "permanent",
  full: "permanent",
  invalid: "permanent",
  credential: "permanent",
  "rate-limited": "rate-limited",
  unavailable: "rate-limited",
  transient: "transient",
} as const satisfies Record<ChannelFailure, FailureVerdict["class"]>;

export function verdictOf(error: unknown): FailureVerdict | undefined {
  if (codeOf(error) === GUARD_STOPPED) return { class: "permanent", notSent: true };
  if (!(error instanceof ChannelError)) return undefined;
  return {
    class: VERDICTS[error.failure],
    notSent: error.notSent,
    afterMs: error.retryAfterMs,
  };
}

function failureOf(code: string | undefined): ChannelFailure | undefined {
  return (Object.keys(VERDICTS) as ChannelFailure[]).find(
    (failure) => code === new ChannelError(failure, "").code,
  );
}

/** The outcome is unknown, and a person can look. An account without a token is another matter. */
function isUnsure(given: GivenUp, error: StoredError): boolean {
  return given.outcome === "unknown" && failureOf(error.code) !== "credential";
}

/** The agents of the request that a message opened: who asks, and who is asked. */
export interface RequestParties {
  readonly from_agent: string;
  readonly to_agent: string;
}

/** The agents of the request that a message opened. */
export async function askedBy(
  { id, request }: StoredMessage,
  tx: Transaction,
): Promise<RequestParties | undefined> {
  if (request === null) return undefined;
  const [asked] = await tx.query<RequestParties>(ASKED_BY, [id]);
  return asked;
}

/**
 * One open escalation per account and reason, and per pair and code of a `collaborate`, not one per
 * message. Source: docs/spec/collaboration §4.
 */
function subjectOf(
  failure: ChannelFailure | undefined,
  message: StoredMessage,
  place: Place,
  { adapter, asks }: { adapter: string; asks: RequestParties | undefined },
): string {
  if (failure === "credential") return `room:account:${adapter}:${message.author}`;
  if (asks) {
    return undelivered(asks, failure === "permission" ? "PERMISSION_DENIED" : "DELIVERY_FAILED");
  }
  // A thread that could not be made is another one each time; its channel is the same.
  const where = place.thread === null ? (place.parent ?? place.id) : place.id;
  if (failure === "permission" || failure === "not-found") {
    return `room:${failure}:${message.author}:${where}`;
  }
  return `room:delivery:${message.id}`;
}

export function undelivered(
  { from_agent, to_agent }: RequestParties,
  code: "PERMISSION_DENIED" | "DELIVERY_FAILED",
): string {
  return `room:undelivered:${[from_agent, to_agent].sort().join(":")}:${code}`;
}

const ASKED_BY = {
  name: "room.asked_by",
  text: `
    select from_agent, to_agent
    from dure.requests
    where message = $1`,
};
/** A call that was refused does not count for its pair. */
const FORGET_CALL = {
  name: "room.forget_call",
  text: `
    update dure.agent_pairs
    set calls = calls[1:cardinality(calls) - 1]
    where (one = $1 and other = $2 or one = $2 and other = $1) and cardinality(calls) > 0`,
};
const CLOSE = {
  name: "room.close",
  text: `
    update dure.places
    set state = 'closed', closed_because = $2
    where id = $1 and state <> 'closed'`,
};
const QUEUED_IN = {
  name: "room.queued_in",
  text: `
    select id
    from dure.room_messages
    where place = $1 and delivery = 'queued'
    order by seq`,
};
const DROP_PART = {
  name: "room.drop_part",
  text: `
    update dure.outbox
    set state = 'failed', settled_at = clock_timestamp(),
      error = '{"code": "EARLIER_PART_FAILED", "message": "An earlier part of the same message failed."}'
    where key = $1 and state = 'pending'`,
};
/** Of a message whose thread was never made. */
const NO_THREAD = { code: "THREAD_NOT_MADE", message: "The thread could not be made." };
const REFUSED = {
  name: "room.refused",
  text: `
    update dure.accounts
    set state = 'refused', detail = $3, changed_at = clock_timestamp()
    where adapter = $1 and id = $2 and state <> 'refused'`,
};
const WITHDRAW = {
  name: "room.withdraw",
  text: `
    update dure.requests
    set state = 'withdrawn', closed_at = clock_timestamp(), next_at = null
    where id = $1 and message = $2 and state = 'open'
    returning to_agent, from_agent, origin`,
};
