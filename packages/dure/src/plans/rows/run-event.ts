import type { EventData, EventOf, EventType, NewPlatformEvent } from "../../wire/events.ts";
import type { PlanRun } from "./run.ts";

/** Types of events that belong to a run and name its plan. */
export type RunEventType = {
  [Type in EventType]: EventOf<Type>["role"] extends "orchestration" ? Type : never;
}[EventType];

/** The data of an event of a run; the plan's name comes with the run. */
export type RunEventData<Type extends RunEventType> = Omit<EventData<Type>, "plan">;

/** An event of a run that is not known yet. */
export type RunEvent = {
  [Type in RunEventType]: { readonly type: Type; readonly data: RunEventData<Type> };
}[RunEventType];

/** Pure. */
export function eventOfRun<Type extends RunEventType>(
  { id, plan }: Pick<PlanRun, "id" | "plan">,
  type: Type,
  data: RunEventData<Type>,
): NewPlatformEvent {
  const event = { type, role: "orchestration", run: id, data: { plan: plan.name, ...data } };
  return event as NewPlatformEvent; // type and data belong together, as the parameters say
}
