import { z } from "zod";
import type { JsonObject } from "../../kernel/json.ts";
import type { AnyService, LeafService } from "../service/combine.ts";
import type { Service } from "../service/service.ts";
import type { EscalationAnswer } from "./turn-context.ts";
import { StateManager, type StateDefinition } from "./state.ts";

/** What a session keeps for one of its services. */
interface ServicePart {
  readonly value: unknown;
  readonly scenario?: string | undefined;
  /** Of one that answers elsewhere: it waits in the middle of a flow. */
  readonly isAsking?: true | undefined;
}

/** A task of an agent on another server that waits for the person's next words. */
export interface OpenTask {
  /** The remote service. */
  readonly service: string;
  readonly id: string;
}

/** A session's part that belongs to its services. */
export interface SessionState {
  /** Of several services, the one that answered last. */
  readonly active?: string | undefined;
  readonly services: Readonly<Record<string, ServicePart>>;
  /** What the person was asked last, if the last `DONE` asked. See `readQuestion`. */
  readonly question?: unknown;
  /** What an agent over A2A asked last; taken back when another service answers. */
  readonly task?: OpenTask | undefined;
  /** Calls whose question the person has taken back since the last turn. */
  readonly left?: readonly EscalationAnswer[] | undefined;
}

/**
 * What a turn has made of the service that answered it; `manager` is absent for one that answers
 * elsewhere.
 */
export interface LeafEnd {
  readonly leaf: LeafService;
  readonly manager: boolean;
  readonly state: JsonObject | undefined;
  readonly scenario: string;
  /** The flow has reached its end: the next turn begins from the initial state. */
  readonly isTerminal: boolean;
  /**
   * Of one that answers elsewhere, whether it waits in the middle of a flow; absent: it has not
   * answered, so as before.
   */
  readonly isAsking?: boolean | undefined;
  /** An answer from the inbox came to it; the person stays with the service where it was. */
  readonly isVisit: boolean;
}

/** Of a service without declared state. */
const FREE_STATE: StateDefinition = {
  schema: z.record(z.string(), z.unknown()),
  initial: () => ({}),
};

/**
 * The service's state as the session holds it, or as it begins. Throws where what is stored does
 * not fit any longer.
 */
// oxlint-disable-next-line typescript/no-explicit-any -- typed by the service's own state definition
export function openState(session: SessionState, service: Service): StateManager<any> {
  return new StateManager(service.state ?? FREE_STATE, session.services[service.name]?.value);
}

/**
 * Whether a scenario has begun and has not ended: neither the intent agent nor a router comes
 * between. `opened` is the service's state where it is at hand. Source: docs/spec/conversation §3.
 */
export function isMidFlow(
  session: SessionState,
  service: LeafService,
  opened?: Pick<StateManager<object>, "isInitial" | "isTerminal">,
): boolean {
  if (service.kind === "remote") return session.services[service.name]?.isAsking === true;
  if (!session.services[service.name]?.scenario || !service.state?.stages) return false;
  const state = opened ?? openState(session, service);
  return !state.isInitial && !state.isTerminal;
}

/**
 * The session when its router has chosen a service; what the one that it leaves was doing is
 * forgotten.
 */
export function enter(
  session: SessionState,
  chosen: LeafService,
  left: LeafService | undefined,
): SessionState {
  const kept = left !== undefined && left !== chosen ? without(session, left.name) : session;
  return { ...kept, active: chosen.name };
}

/** The session as the end of the turn stores it. */
export function sessionAfter(
  session: SessionState,
  root: AnyService,
  { leaf, manager, state, scenario, isTerminal, isAsking, isVisit }: LeafEnd,
): SessionState {
  const active =
    root.kind === "combined" ? { active: isVisit ? (session.active ?? leaf.name) : leaf.name } : {};
  if (leaf.kind === "remote") {
    if (isAsking === undefined) return { ...session, ...active };
    const part: ServicePart = { value: {}, isAsking: isAsking || undefined };
    return { ...session, ...active, services: { ...session.services, [leaf.name]: part } };
  }
  if (!manager) return { ...session, ...active };
  const value = isTerminal ? (leaf.state ?? FREE_STATE).initial() : state;
  const kept = isTerminal || scenario === "" ? {} : { scenario };
  return {
    ...session,
    ...active,
    services: { ...session.services, [leaf.name]: { value, ...kept } },
  };
}

function without(session: SessionState, service: string): SessionState {
  const { [service]: _left, ...services } = session.services;
  return { ...session, services };
}
