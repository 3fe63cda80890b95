import type { ToolCallView } from "../../kernel/turn-events.ts";
import { ToolCallEvents } from "../agent/tool-call-events.ts";
import type { AnyTool } from "../agent/tool.ts";
import type { Step } from "./step.ts";
import type { TurnFacts } from "./turn-context.ts";
import type { TurnEnvironment } from "./turn-environment.ts";
import type { TurnSteps } from "./turn-steps.ts";

/** A call as a handler makes it. */
export interface HandlersCall {
  readonly tool: AnyTool;
  readonly name: string;
  readonly input: unknown;
  readonly view?: ToolCallView | undefined;
}

interface ToldParts {
  readonly facts: TurnFacts;
  readonly environment: Pick<TurnEnvironment, "clock">;
  readonly steps: TurnSteps;
}

/**
 * Tells a handler's call under a place inside of its own: a call that was only told is none that
 * the next life has to make.
 */
export function toldAt(
  step: Step,
  view: ToolCallView | undefined,
  { facts, environment, steps }: ToldParts,
): ToolCallEvents {
  const place = step.inside().next("told");
  return new ToolCallEvents({
    turnId: facts.turnId,
    clock: environment.clock,
    view,
    isShown: true,
    told: place.events,
    emit: (event) => steps.store(place, event),
  });
}
