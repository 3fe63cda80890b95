/** What a turn is for: the service and flow are chosen, and the flow's handler runs. */

import { DureError } from "../../kernel/errors.ts";
import { TURN_EVENT_TYPES, type TurnEvent } from "../../kernel/turn-events.ts";
import { takesNoCallerTools } from "../caller/caller-tools.ts";
import { closed, refusalOfResults } from "../caller/handed-out.ts";
import { bringFiles } from "./remote-turns.ts";
import type { RemoteService } from "../remote/remote-service.ts";
import type { DonePayload, Service } from "../service/service.ts";
import { hearAnswers } from "./heard-answers.ts";
import { TurnContext } from "./turn-context.ts";
import type { TurnParts } from "./turn-parts.ts";

/**
 * What a turn is for: chooses the service and its flow, and runs the flow's handler to what `DONE`
 * is to say.
 */
export async function handleTurn(parts: TurnParts): Promise<DonePayload> {
  const { route, stop } = parts;
  stop.signal.throwIfAborted();
  assertCallsOpen(parts);
  await hearAnswers(parts);
  const leaf = await route.choose();
  if (leaf.kind === "remote") return passOn(leaf, parts);

  assertTakesCaller(leaf, parts);
  route.open(leaf);
  const intent = route.intentOf(leaf);
  if (intent !== undefined) await route.classify(leaf, intent);
  route.chooseFlow(leaf);
  return runFlow(leaf, parts);
}

/** What the session waits for was looked at when the message was accepted; it may have gone on. */
function assertCallsOpen({ facts, memory, held }: TurnParts): void {
  const results = facts.callerTools?.results;
  if (results === undefined) return;
  const now = { service: held.service, at: facts.acceptedAt };
  const { handedOut } = memory;
  const refusal = handedOut?.open ? refusalOfResults(handedOut, results, now) : closed();
  if (refusal) throw refusal;
}

/** A process that had another release may have accepted them. */
function assertTakesCaller({ name, callerTools }: Service, { facts }: TurnParts): void {
  if (facts.callerTools !== undefined && !callerTools) throw takesNoCallerTools(name);
}

/** To the server on which the service is. */
async function passOn(remote: RemoteService, parts: TurnParts): Promise<DonePayload> {
  const { agents, elsewhere, journal } = parts;
  journal.replay?.assertMayDo(`remote:${remote.name}`);
  const done = await elsewhere.passThrough(remote);
  agents.addTraces(done.trace.agents);
  await elsewhere.lookWhetherAsking(remote, done);
  await bringFiles(remote, done, parts);
  return done;
}

async function runFlow(leaf: Service, parts: TurnParts): Promise<DonePayload> {
  const { flow } = parts.route;
  const where = `The flow ${flow} of ${leaf.name}`;
  const iterator = leaf.flows[flow]!(new TurnContext(leaf, parts));
  for (;;) {
    const step = await iterator.next();
    if (step.done) {
      if (step.value) return step.value;
      throw new DureError("HANDLER_WITHOUT_DONE", `${where} ended without DONE.`, {
        hint: "Return turn.done({ message }) at the end of the handler.",
      });
    }
    if (step.value.type === "DONE") {
      await iterator.return(undefined);
      return step.value.data;
    }
    assertKnown(step.value, where);
    parts.steps.emit(step.value);
  }
}

/** Handlers in plain JavaScript may yield anything. */
function assertKnown(event: TurnEvent, where: string): void {
  if (TURN_EVENT_TYPES.includes(event.type)) return;
  throw new DureError(
    "EVENT_UNKNOWN",
    `${where} yielded an event of the type ${JSON.stringify(event.type)}.`,
    {
      hint: [
        `Types are: ${TURN_EVENT_TYPES.join(", ")}.`,
        "What clients are to know besides goes through turn.hook(type, data).",
      ].join(" "),
    },
  );
}
