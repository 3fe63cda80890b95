/** Which service and which flow answer a turn. */

import type { TurnParts } from "./turn-parts.ts";
import { codeOf, DureError } from "../../kernel/errors.ts";
import { compacted, isObject, type JsonObject } from "../../kernel/json.ts";
import { ownTroubleOf } from "../../durable/passing.ts";
import type { CombinedService, LeafService } from "../service/combine.ts";
import { DivergedError } from "./journal.ts";
import { answeringOf, readQuestion, type Answering, type Question } from "./question.ts";
import type { Service } from "../service/service.ts";
import { enter, isMidFlow, openState, type OpenTask, type SessionState } from "./session-state.ts";
import type { StateManager } from "./state.ts";
import type { AgentOutcome } from "./turn-context.ts";
import type { AskingPlace } from "./turn-escalations.ts";
import type { Step } from "./step.ts";

/** Which service and which flow answer one turn, and the state that they find. */
export class TurnRoute {
  /** What the session was asked last. */
  readonly question: Question | undefined;
  readonly #turn: TurnParts;
  #session: SessionState;
  #leaf: LeafService | undefined;
  #isVisit = false;
  // oxlint-disable-next-line typescript/no-explicit-any -- typed by the service's own state definition
  #state: StateManager<any> | undefined;
  #scenario = "";
  #flow = "";

  constructor(turn: TurnParts) {
    this.#turn = turn;
    this.#session = { services: {}, ...(turn.held.state as Partial<SessionState>) };
    this.question = readQuestion(this.#session.question);
  }

  get session(): SessionState {
    return this.#session;
  }

  /** The service that answers; absent until it is chosen. */
  get leaf(): LeafService | undefined {
    return this.#leaf;
  }

  /** An answer from the inbox goes to the service that asked, not to the one where the person is. */
  get isVisit(): boolean {
    return this.#isVisit;
  }

  /** Absent for a service that answers elsewhere. */
  // oxlint-disable-next-line typescript/no-explicit-any -- as above
  get state(): StateManager<any> | undefined {
    return this.#state;
  }

  get scenario(): string {
    return this.#scenario;
  }

  get flow(): string {
    return this.#flow;
  }

  /** Whether the message can answer the question that the person was shown last. */
  get answering(): Answering {
    return answeringOf(this.question, { ...this.#turn.facts, service: this.place.service });
  }

  get place(): AskingPlace {
    return { service: this.#leaf?.name ?? this.#turn.held.service, flow: this.#flow };
  }

  /** The task whose question this turn takes back, for another service answers the person. */
  get leftTask(): OpenTask | undefined {
    const { task } = this.#session;
    const isLeft = this.#leaf !== undefined && !this.#isVisit && this.#leaf.name !== task?.service;
    return isLeft ? task : undefined;
  }

  /** The question of another server that this turn takes back, because another service answers. */
  get leftQuestion(): Question | undefined {
    const { question } = this;
    if (!question?.isElsewhere || this.#leaf === undefined) return undefined;
    return this.#leaf.name === question.service ? undefined : question;
  }

  // --- which service

  async choose(): Promise<LeafService> {
    const root = this.#turn.service!;
    this.#leaf = root.kind === "combined" ? await this.#chooseOf(root) : root;
    return this.#leaf;
  }

  async #chooseOf(root: CombinedService): Promise<LeafService> {
    const { facts } = this.#turn;
    const asked = facts.escalation?.context["service"];
    const asking = typeof asked === "string" ? root.services.get(asked) : undefined;
    if (asking) {
      this.#isVisit = true;
      return asking;
    }

    const active = this.#activeOf(root);
    const isWithin = active !== undefined && isMidFlow(this.#session, active);
    if (active && facts.author === "system") return active;
    if (isWithin && !root.asksToLeave(facts.message)) return active;

    const step = this.#turn.steps.nextRoute();
    const cheap = root.router.kind === "function";
    const name = await step.once(() => this.#askRouter(root, step), { cheap });
    const chosen = root.services.get(name);
    if (!chosen) {
      throw new DureError(
        "SERVICE_UNKNOWN",
        `The router of ${root.name} chose "${name}", which is none of its services.`,
        { hint: `Services are: ${[...root.services.keys()].join(", ")}.` },
      );
    }
    this.#session = enter(this.#session, chosen, active);
    return chosen;
  }

  /** The service that answered last. */
  #activeOf(root: CombinedService): LeafService | undefined {
    const { active } = this.#session;
    return active === undefined ? undefined : root.services.get(active);
  }

  async #askRouter(root: CombinedService, step: Step): Promise<string> {
    const { facts, stop, agents } = this.#turn;
    const { router } = root;
    const services = [...root.services.keys()];
    if (router.kind === "function") {
      return router.route(facts.message, {
        services,
        current: this.#session.active,
        locale: facts.locale,
        signal: stop.signal,
      });
    }
    try {
      const { data } = await agents.runRouter(router, step);
      const chosen = isObject(data) ? data["service"] : undefined;
      return typeof chosen === "string" && services.includes(chosen) ? chosen : router.default;
    } catch (error) {
      if (this.#isControl(error)) throw error;
      return router.default;
    }
  }

  // --- which flow

  /** Opens the state of the chosen service. */
  open(leaf: Service): void {
    this.#state = openState(this.#session, leaf);
    this.#scenario = this.#session.services[leaf.name]?.scenario ?? "";
  }

  /** The agent (a key) that is asked for the scenario before a flow is chosen. */
  intentOf(leaf: Service): string | undefined {
    const { author, escalation } = this.#turn.facts;
    if (author !== "person" || escalation) return undefined;
    return isMidFlow(this.#session, leaf, this.#state) ? undefined : leaf.intent;
  }

  chooseFlow(leaf: Service): void {
    const key = this.#flowKey(leaf);
    this.#flow = key in leaf.flows ? key : leaf.defaultFlow;
  }

  /** The flow that asked a person, else what the service's router says of the scenario. */
  #flowKey(leaf: Service): string {
    const { facts } = this.#turn;
    const asked = facts.escalation?.context["flow"];
    if (typeof asked === "string" && asked in leaf.flows) return asked;
    if (!leaf.router) return this.#scenario;
    return leaf.router(this.#scenario, { message: facts.message });
  }

  /** The scenario by the intent agent. Its failure keeps what there is and never ends the turn. */
  async classify(leaf: Service, key: string): Promise<void> {
    const { facts, held, environment, steps, agents } = this.#turn;
    const label = facts.locale.startsWith("en") ? "Understanding" : "의도 파악 중";
    try {
      const options = { show: false, temperature: 0 };
      const call = { key, label, options, tells: decisionOf };
      const { data } = await agents.run(leaf, call, (event) => steps.emit(event));
      this.#scenario = scenarioIn(data) ?? this.#scenario;
    } catch (error) {
      if (this.#isControl(error)) throw error;
      environment.logger.warn(
        { turn: held.turn, code: codeOf(error) },
        "the intent agent failed; the scenario stays as it was",
      );
    }
  }

  /** Whether an error ends this life, so that it is no failure of the agent that was asked. */
  #isControl(error: unknown): boolean {
    return (
      this.#turn.stop.signal.aborted ||
      ownTroubleOf(error) !== undefined ||
      error instanceof DivergedError ||
      codeOf(error) === "TURN_CLOSED"
    );
  }

  // --- what was before

  /** The stored state. Absent where it cannot be read: it stays stored as it is. */
  stateBefore(): JsonObject | undefined {
    const { service } = this.#turn;
    // Where the person is, of a turn that ends before a service is chosen.
    const before = service?.kind === "combined" ? this.#activeOf(service) : service;
    const leaf = this.#leaf ?? before;
    if (leaf?.kind !== "service") return undefined;
    try {
      return openState(this.#session, leaf).snapshot();
    } catch {
      return undefined;
    }
  }
}

/** What a reader of the stream is told of the intent agent: the scenario, and none of its words. */
function decisionOf({ result, data }: AgentOutcome): JsonObject {
  return { status: result.status, data: compacted({ scenario: scenarioIn(data) }) };
}

function scenarioIn(data: unknown): string | undefined {
  if (!isObject(data)) return undefined;
  const scenario = data["scenario"] ?? data["intent"] ?? data["action"];
  return typeof scenario === "string" ? scenario : undefined;
}
