import type { DonePayload, FlowHandler } from "./service.ts";
import type { TurnContext } from "./turn-context.ts";

/** An async function as a handler: its agents' events leave through the turn itself, so there is nothing to yield. */
export function flowHandler(work: (turn: TurnContext) => Promise<DonePayload>): FlowHandler {
  // oxlint-disable-next-line require-yield
  return async function* (turn) {
    return await work(turn);
  };
}
