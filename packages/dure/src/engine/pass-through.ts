import type { Clock } from "../kernel/clock.ts";
import { DureError } from "../kernel/errors.ts";
import type { Done, TurnEvent } from "../kernel/turn-events.ts";
import { a2aTurn, stopA2aTask } from "./a2a.ts";
import type { AnyService } from "./combine.ts";
import type { TurnJournal } from "./journal.ts";
import { remoteTurn, stopRemoteTurn, type RemoteService } from "./remote-service.ts";
import type { TurnFacts } from "./turn-context.ts";

/** Under which name a journal has the turn on another server. */
export function remoteStep(remote: RemoteService): string {
  return `${STEP}${remote.name}`;
}

const STEP = "remote:";

/** One turn on another server, whatever it speaks, as long as it may take. Given up, here by a stop or by its time, it is ended there too. */
export async function* passThrough(
  remote: RemoteService,
  facts: TurnFacts,
  { path, clock, signal, isStopped }: { path: string; clock: Clock; signal: AbortSignal; /** Whether somebody asked for the end of the turn. */ isStopped: () => boolean },
): AsyncGenerator<TurnEvent, Done> {
  const timeout = new AbortController();
  const cancel = clock.after(remote.timeoutMs, () =>
    timeout.abort(new DureError("REMOTE_TIMEOUT", `The service ${remote.name} did not finish within ${remote.timeoutMs} ms.`, { class: "unavailable" })),
  );
  const call = { key: remoteKey(facts, path), clock, signal: AbortSignal.any([signal, timeout.signal]), isGivenUp: () => isStopped() || timeout.signal.aborted };
  try {
    return yield* remote.protocol === "a2a" ? a2aTurn(remote, facts, call) : remoteTurn(remote, facts, call);
  } finally {
    cancel();
  }
}

/** Ends what an earlier life has begun on other servers and could not stop there, because it died before the stop came. */
export function stopElsewhere(journal: TurnJournal, service: AnyService | undefined, facts: TurnFacts, clock: Clock): void {
  for (const { path, name } of journal.unfinished(STEP)) {
    const leaf = service?.kind === "combined" ? service.services.get(name.slice(STEP.length)) : service;
    if (leaf?.kind !== "remote" || remoteStep(leaf) !== name) continue;
    const call = { key: remoteKey(facts, path), clock };
    void (leaf.protocol === "a2a" ? stopA2aTask(leaf, facts, call) : stopRemoteTurn(leaf, facts, call));
  }
}

/** Makes it the same turn there in every life of this one. */
function remoteKey({ turnId }: TurnFacts, path: string): string {
  return `${turnId}/${path}`;
}
