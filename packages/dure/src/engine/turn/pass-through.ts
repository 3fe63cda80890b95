import { withTimeout, type Clock } from "../../kernel/clock.ts";
import { DureError } from "../../kernel/errors.ts";
import type { Done, TurnEvent } from "../../kernel/turn-events.ts";
import type { ClaimedTurn, FinishedTurn } from "../../durable/turns.ts";
import { a2aTurn, stopA2aTask } from "../remote/a2a.ts";
import type { TurnJournal } from "./journal.ts";
import {
  remoteTurn,
  stopRemoteTurn,
  takeBackThere,
  type RemoteRequest,
  type RemoteService,
} from "../remote/remote-service.ts";
import type { TurnFacts } from "./turn-context.ts";

/** Under which name a journal has the turn on another server. */
export function remoteStep(remote: RemoteService): string {
  return `${STEP}${remote.name}`;
}

const STEP = "remote:";

/**
 * A turn on another server that may have begun and whose end has not come: what it takes to end it
 * there.
 */
export interface TurnElsewhere {
  /** The remote service. */
  readonly name: string;
  /** Makes it the same turn there in every life of this one. */
  readonly key: string;
  /** That of the turn or task there, once it has come. */
  id?: string;
}

/** Those that earlier lives have left. */
export function begunElsewhere(
  journal: TurnJournal,
  facts: TurnFacts,
): ReadonlyMap<string, TurnElsewhere> {
  return new Map(
    journal
      .unfinished(STEP)
      .map(({ path, name }) => [path, turnElsewhere(name.slice(STEP.length), facts, path)]),
  );
}

export function turnElsewhere(name: string, { turnId }: TurnFacts, path: string): TurnElsewhere {
  return { name, key: `${turnId}/${path}` };
}

/**
 * One turn on another server over either protocol, within its time limit. An abort leaves it
 * running there.
 */
export async function* passThrough(
  remote: RemoteService,
  request: RemoteRequest,
  { there, clock, signal }: { there: TurnElsewhere; clock: Clock; signal: AbortSignal },
): AsyncGenerator<TurnEvent, Done> {
  const timeout = new AbortController();
  const cancel = clock.after(remote.timeoutMs, () =>
    timeout.abort(
      new DureError(
        "REMOTE_TIMEOUT",
        `The service ${remote.name} did not finish within ${remote.timeoutMs} ms.`,
        { class: "unavailable" },
      ),
    ),
  );
  const call = {
    key: there.key,
    clock,
    signal: AbortSignal.any([signal, timeout.signal]),
    onBegun: (id: string): void => void (there.id = id),
  };
  try {
    return yield* remote.protocol === "a2a"
      ? a2aTurn(remote, request, call)
      : remoteTurn(remote, request, call);
  } finally {
    cancel();
  }
}

/** What ends a turn on another server, or takes its question back, as a row holds it. */
export interface StopElsewhere extends TurnElsewhere {
  readonly request: RemoteRequest;
  /** What the person was asked there; no turn is to be ended. */
  readonly question?: string | undefined;
}

/** Where the id is not known, with all that was said: the same request tells it. */
export function stopOf(there: TurnElsewhere, request: RemoteRequest): StopElsewhere {
  const { session, locale, timeZone } = request;
  const isKnown = there.id !== undefined;
  return { ...there, request: isKnown ? { session, locale, timeZone, message: "" } : request };
}

/** Of the task or the question of another server whose person has gone to another service. */
export function leaving(
  asked: Omit<StopElsewhere, "request">,
  { sessionElsewhere: session, locale, timeZone }: TurnFacts,
): StopElsewhere {
  return { ...asked, request: { session, locale, timeZone, message: "" } };
}

/**
 * The hook type under which it is delivered: the process that was told of a stop may die before it
 * has told the other server.
 */
export const STOP_ELSEWHERE = "@stop-elsewhere";

export function stopRows(
  held: ClaimedTurn,
  stops: readonly StopElsewhere[],
): FinishedTurn["outbox"] {
  return stops.map((stop) => ({
    topic: "hook",
    ordering: held.session,
    key: `${stop.key}/stop`,
    payload: {
      service: stop.name,
      type: STOP_ELSEWHERE,
      data: stop,
      session: held.session,
      turn: held.turn,
    },
  }));
}

/** Does what a row says. Throws where the other server cannot be told now. */
export async function stopElsewhere(
  remote: RemoteService,
  { key, id, question, request }: StopElsewhere,
  { signal }: { signal: AbortSignal },
): Promise<void> {
  if (question !== undefined) return takeBackThere(remote, request.session, question, signal);
  if (remote.protocol === "a2a") await stopA2aTask(remote, request, { key, task: id, signal });
  else await stopRemoteTurn(remote, request, { key, turnId: id, signal });
}

/** The same once, at once, and never rejecting: the row does what it cannot. */
export async function tryStopElsewhere(
  remote: RemoteService,
  stop: StopElsewhere,
  clock: Clock,
): Promise<void> {
  const late = (): DureError =>
    new DureError("REMOTE_TIMEOUT", "The other server did not answer in time.", {
      class: "unavailable",
    });
  await withTimeout(clock, TRY_WITHIN_MS, late, (signal) =>
    stopElsewhere(remote, stop, { signal }),
  ).catch(() => {});
}

const TRY_WITHIN_MS = 5_000;
