import type { Guard } from "../mutate.ts";
import {
  budgets,
  budgetsOfEngine,
  effects,
  onceRunner,
  paused,
  testsIn,
  turns,
} from "./tests-in.ts";

const ENGINE = "packages/dure/src/engine";
const open = testsIn(`${ENGINE}/effects/open-effects.test.ts`);
const language = testsIn(`${ENGINE}/turn/language.test.ts`);
const prices = testsIn("packages/dure/src/models/offline.test.ts");
const replay = testsIn(`${ENGINE}/replay/replay.test.ts`);
const toolEvents = testsIn(`${ENGINE}/agent/tool-events.test.ts`);
const inbox = testsIn("packages/dure/src/escalations/inbox.test.ts");
const mcp = testsIn("packages/dure/test/mcp/mcp.test.ts");

/** What a turn may do, spend and say. */
export const ENGINE_GUARDS: readonly Guard[] = [
  // --- paused agents
  {
    id: "pause.call",
    at: { file: `${ENGINE}/turn/turn-agents.ts` },
    find: "untilUnpaused: pauses && (() => pauses.passes(names, { signal: stop.signal })),",
    replace: "untilUnpaused: undefined,",
    tests: paused(
      "a turn under way makes no further call while its agent is paused, and goes on after it",
    ),
    why: "the tool loop of a paused agent goes on calling its model",
  },
  {
    id: "pause.accept",
    at: { file: `${ENGINE}/turn/turn-acceptance.ts` },
    find: "if (own === undefined || own === service.name) throw agentPaused(pause.agent);",
    replace: "if (own === service.name && own !== service.name) throw agentPaused(pause.agent);",
    tests: paused(
      "a paused agent is not spoken to: its message is refused, and no model is called",
    ),
    why: "a person waits without a word for an agent that is paused",
  },
  {
    id: "pause.attempt",
    at: { file: `${ENGINE}/agent/agent-model.ts` },
    find: "const goOn = hold();",
    replace: "const goOn = (): void => void hold;",
    tests: paused(
      "a turn under way makes no further call while its agent is paused, and goes on after it",
    ),
    why: "the time of an attempt runs out while its agent is paused",
  },
  // --- what the stream tells of tools
  {
    id: "tools.names",
    at: { file: "packages/dure/src/kernel/told-tool.ts" },
    find: 'if (reader.seesTools || view === "full")',
    replace: "if (reader)",
    tests: toolEvents("who may only chat reads names alone, or what the service shows"),
    why: "a customer reads what tools are called with",
  },
  {
    id: "tools.none",
    at: { file: "packages/dure/src/kernel/told-tool.ts" },
    find: 'if (view === "none") return undefined;',
    replace: "",
    tests: toolEvents("who may only chat reads names alone, or what the service shows"),
    why: "a customer reads which tools a service calls that hides them",
  },
  {
    id: "tools.secrets",
    at: { file: "packages/dure/src/kernel/told-tool.ts" },
    find: "isSecretKey(key) ? SECRET_VALUE : ",
    replace: "",
    tests: toolEvents("a call of a tool is told with its arguments and result, and no secret"),
    why: "a key that a tool is called with stands in the stream",
  },
  {
    id: "tools.once",
    at: { file: `${ENGINE}/agent/told-calls.ts` },
    find: "if (!this.#told.has(markOf(event)!)) this",
    replace: "this",
    tests: toolEvents("the call of a turn that another process takes over is told once"),
    why: "a call that goes on after a crash looks like a second one",
  },
  {
    id: "inbox.job",
    at: { file: "packages/dure/src/escalations/inbox.ts" },
    find: "starts_with(session_id, 'job:' || $7 || ':')",
    replace: "starts_with(session_id, 'job:' || $7)",
    tests: inbox("what a turn of a job's exchange asks is found by the job"),
    why: "a job shows, and lets answer, the questions of another one",
  },
  // --- replays
  {
    id: "replay.tools",
    at: { file: `${ENGINE}/agent/agent-tools.ts` },
    find: "if (replay) return replay.toolAnswer(this.#key, use);",
    replace: "void replay;",
    tests: replay("a call that the turn did not make is refused, and never reaches the outside"),
    why: "a replay pays again",
  },
  {
    id: "replay.steps",
    at: { file: `${ENGINE}/replay/replay.ts` },
    find: "if (DONE_ANEW.test(step)) return;",
    replace: "if (DONE_ANEW.test(step) || step.length > 0) return;",
    tests: replay("a step of the handler that the turn did not do ends the replay"),
    why: "a handler does something to the outside in a replay",
  },
  // --- calls whose outcome is not known
  {
    id: "effects.begun",
    at: { file: `${ENGINE}/agent/agent-tools.ts` },
    find: "if (begun === undefined) return this.#callPlain(use, key);",
    replace: 'if (begun !== "") return this.#callPlain(use, key);',
    tests: mcp("the same with a tool that says only then that it only reads"),
    why: "a server that calls its tool read-only after a crash has it called twice",
  },
  {
    id: "effects.open",
    at: { sql: "effect_intent" },
    find: "and status in ('intent', 'unknown') and turn_id <> t.id",
    replace: "and status = 'open' and turn_id <> t.id",
    tests: open("while it is not known what came of a call"),
    why: "a payment whose answer was lost is made again under other words",
  },
  {
    id: "effects.open-in-turn",
    at: { file: `${ENGINE}/turn/turn-effects.ts` },
    find: "if (isOpen && question.key !== key) throw question;",
    replace: "",
    tests: open("a handler that goes on after an unknown call"),
    why: "a handler that swallows an unknown outcome pays again",
  },
  {
    id: "language.kept",
    at: { file: `${ENGINE}/turn/turn-facts.ts` },
    find: "locale: input.locale ?? held.locale ?? team.locale,",
    replace: "locale: held.locale ?? team.locale,",
    tests: language("a turn that begins again keeps its language"),
    why: "a turn that begins again speaks the language of a later message",
  },
  // --- approvals
  {
    id: "approvals.arguments",
    at: { file: `${ENGINE}/effects/approvals.ts` },
    find:
      'context["tool"] === tool && canonicalJson(context["input"]) === ' +
      "canonicalJson(JSON.parse(JSON.stringify(input ?? null)))",
    replace: 'context["tool"] === tool && JSON.stringify(input) !== ""',
    tests: effects("a yes allows the call that was shown"),
    why: "a yes allows another payee than the one that was shown",
  },
  {
    id: "approvals.tool",
    at: { file: `${ENGINE}/effects/approvals.ts` },
    find: 'context["tool"] === tool && canonicalJson',
    replace: "tool.length > 0 && canonicalJson",
    tests: effects("a yes to one tool allows no other tool"),
    why: "a yes to one tool allows another one with the same arguments",
  },
  {
    id: "approvals.no",
    at: { file: `${ENGINE}/effects/approvals.ts` },
    find: 'return isYes(escalation) ? { is: "allowed", approval: escalation.id } : { is: "refused" };',
    replace: 'return { is: "allowed", approval: escalation.id };',
    tests: effects("a call that code makes and that a person refuses has failed"),
    why: "a no allows the call",
  },
  {
    id: "approvals.needed",
    at: { file: `${ENGINE}/effects/approvals.ts` },
    find: "if (!tool.approval || !(tool.approval.when?.(input) ?? true)) return",
    replace: 'if (key !== "") return',
    tests: effects("a call that code makes with a tool that needs a yes asks for it"),
    why: "a tool that needs a yes is called without one",
  },
  {
    id: "approvals.known-effect",
    at: { file: `${ENGINE}/effects/approvals.ts` },
    find: 'if (await this.#store.isEffectKnown(key, { signal: this.#signal })) return { is: "allowed" };',
    replace: "",
    tests: effects("a call that code makes with a tool that needs a yes asks for it"),
    why: "a call that was allowed before a crash is asked for again",
  },
  {
    id: "approvals.unused",
    at: { file: `${ENGINE}/effects/approvals.ts` },
    find: "if (!isYes(escalation) || this.#isSettled) return undefined;",
    replace: 'if (escalation?.id !== "") return undefined;',
    tests: effects("a yes whose call is not made ends its turn with an error"),
    why: "a yes that nothing came of is told to no one",
  },

  // --- effects
  {
    id: "effects.same-arguments",
    at: { file: `${ENGINE}/effects/effects.ts` },
    find: "if (canonicalJson(intent.input) !== canonicalJson(JSON.parse(JSON.stringify(input ?? null)))) {",
    replace: 'if (key === "") {',
    tests: effects("a key that comes with other arguments is told to the model"),
    why: "one key stands for two different calls",
  },
  {
    id: "effects.done",
    at: { file: `${ENGINE}/effects/effects.ts` },
    find: 'if (intent.status === "done") return { status: "done", result: intent.result };',
    replace: "",
    tests: onceRunner("what is known to have happened under a key is not done again"),
    why: "an effect that has happened is made again",
  },
  {
    id: "effects.failed",
    at: { file: `${ENGINE}/effects/effects.ts` },
    find: 'if (!call.repeatsFailed) return { status: "failed", error: failureOf(intent.error) };',
    replace: "",
    tests: onceRunner("what is known to have failed under a key is not done again"),
    why: "a call that a person refused, or that has failed, is made again",
  },
  {
    id: "effects.fresh",
    at: { file: `${ENGINE}/effects/effects.ts` },
    find: "while (this.#clock.monotonic() - askedAt > fresh) {",
    replace: "while (askedAt < 0) {",
    tests: onceRunner(
      "an intent whose answer took long is recorded again",
      "a process that stood still between intent and call",
    ),
    why: "a process that stood still makes a call that another has made",
  },
  {
    id: "effects.fate.sent",
    at: { file: `${ENGINE}/effects/effects.ts` },
    find: 'if (sent === true) return "unknown";',
    replace: "",
    tests: effects("the fate of a call that threw"),
    why: "a call that arrived is called failed",
  },
  {
    id: "effects.fate.earlier",
    at: { file: `${ENGINE}/effects/effects.ts` },
    find: 'if (mayHaveHappened) return "unknown";',
    replace: "",
    tests: onceRunner("a second call under replay that was not sent"),
    why: "a call that was not sent says that an earlier one did not arrive",
  },
  {
    id: "effects.calls-bound.replay",
    at: { file: `${ENGINE}/effects/effects.ts` },
    find:
      "if (round.calls >= MAX_CALLS) { throw unknownEffect(call, `${round.calls} calls gave no " +
      "answer`); }",
    replace:
      "if (round.calls >= 7) { throw unknownEffect(call, `${round.calls} calls gave no answer`); }",
    tests: onceRunner("an outside that keeps keys is asked five times"),
    why: "the outside is asked without end",
  },
  {
    id: "effects.settled",
    at: { file: `${ENGINE}/effects/effects.ts` },
    find: 'if (answer === "not_happened" && askedAt >= settledAt) {',
    replace: 'if (answer === "not_happened") {',
    tests: onceRunner(
      "a no counts only when it was asked for after the call can no longer be on its way",
    ),
    why: "a call that is still travelling is made again",
  },
  {
    id: "effects.stopped",
    at: { file: `${ENGINE}/effects/effects.ts` },
    find: 'if (this.#isStopped()) { return this.#fail(call, { code: "NOT_HAPPENED"',
    replace: 'if (call.key === "") { return this.#fail(call, { code: "NOT_HAPPENED"',
    tests: onceRunner("what did not happen is not tried again after a stop"),
    why: "a stopped turn makes its call again",
  },

  // --- stop
  {
    id: "turn-stop.first-epoch",
    at: { file: `${ENGINE}/turn/turn-stop.ts` },
    find: "if (this.#held.epoch === FIRST_EPOCH) this.#cutNow();",
    replace: "if (this.#held.epoch > 0) this.#cutNow();",
    tests: effects(
      "a stop that comes after a death begins nothing beside the effect that it settles",
    ),
    why: "a stop after a death leaves an effect of the life before unsettled",
  },
  {
    id: "turn-stop.begin",
    at: { file: `${ENGINE}/turn/turn-stop.ts` },
    find: "if (this.#asked) throw this.#asked;",
    replace: "",
    tests: effects(
      "a stop that comes after a death begins nothing beside the effect that it settles",
    ),
    why: "a stopped turn begins something new",
  },
  {
    id: "turn-stop.lost-effects",
    at: { file: `${ENGINE}/turn/turn-stop.ts` },
    find: '(status === "intent" || status === "unknown") && !this.#known.has(key)',
    replace: 'status === "unknown" && !this.#known.has(key)',
    tests: effects(
      "of an effect that a stopped turn cannot come to any more after a death a person is asked",
    ),
    why: "an effect of which nothing is known is asked about by no one",
  },

  // --- journal
  {
    id: "journal.diverged",
    at: { file: `${ENGINE}/turn/step.ts` },
    find: 'if (past.name !== now.name) return { is: "diverged", recorded: past.name, now: now.name };',
    replace: "",
    tests: turns("a handler with two steps exchanged after a restart"),
    why: "a record is given to another step than the one that made it",
  },
  {
    id: "journal.complete",
    at: { file: `${ENGINE}/turn/journal.ts` },
    find: 'if (!path.includes(".") && !this.#visited.has(path)) { throw',
    replace: 'if (path === "" && !this.#visited.has(path)) { throw',
    tests: turns("a handler with one step less after a restart"),
    why: "a handler that leaves out what it did ends as if nothing were wrong",
  },
  {
    id: "journal.swallowed",
    at: { file: `${ENGINE}/turn/journal.ts` },
    find: "if (this.#diverged) throw this.#diverged;",
    replace: "",
    tests: turns("a handler that takes a divergence of its step for a failure"),
    why: "a handler that swallows its divergence ends as if nothing were wrong",
  },

  // --- budgets
  {
    id: "reserve_budget.fenced",
    at: { sql: "reserve_budget" },
    find: "if t.id is null then return jsonb_build_object('outcome', 'fenced'); end if;",
    replace: "",
    tests: budgets("a reservation is written once, only by the turn's holder"),
    why: "a process that lost the turn reserves for it",
  },
  {
    id: "reserve_budget.found",
    at: { sql: "reserve_budget" },
    find: "if found then return jsonb_build_object('outcome', 'found', 'process', v_process); end if;",
    replace: "",
    tests: budgets("a reservation is written once, only by the turn's holder"),
    why: "a turn that goes on elsewhere reserves a second time",
  },
  {
    id: "reserve_budget.stop",
    at: { sql: "reserve_budget" },
    find: "if t.stop is not null then return jsonb_build_object('outcome', 'stop'); end if;",
    replace: "",
    tests: budgets("a reservation is written once, only by the turn's holder"),
    why: "a stopped turn pays for another call",
  },
  {
    id: "reserve_budget.blocks",
    at: { sql: "reserve_budget" },
    find: "< cardinality(v_pools) then",
    replace: "< 0 then",
    tests: budgets("a reservation is written once, only by the turn's holder"),
    why: "a process spends from blocks that were taken back",
  },
  {
    id: "reserve_budget.bound",
    at: { sql: "reserve_budget" },
    find: "where held + amount > most limit 1",
    replace: "where false limit 1",
    tests: budgets("what fits a bound of a turn exactly is reserved"),
    why: "a turn spends beyond its bound",
  },
  {
    id: "reserve_budget.exact-fit",
    at: { sql: "reserve_budget" },
    find: "where held + amount > most limit 1",
    replace: "where held + amount >= most limit 1",
    tests: budgets("what fits a bound of a turn exactly is reserved"),
    why: "what fits exactly is refused",
  },
  {
    id: "reserve_budget.agent",
    at: { sql: "reserve_budget" },
    find: "where (b.agent is null or spent.agent = b.agent) and case",
    replace: "where case",
    tests: budgets("a bound of one agent counts that agent alone"),
    why: "one agent's bound is used up by another",
  },
  {
    id: "settle_reservations.once",
    at: { sql: "settle_reservations" },
    find: "where r.turn_id = p_turn and r.settled_at is null and (c.place is not null or v_over)",
    replace: "where r.turn_id = p_turn and (c.place is not null or v_over)",
    tests: budgets("a call that is recorded again is charged once"),
    why: "one call is charged twice",
  },
  {
    id: "settle_reservations.unrecorded",
    at: { sql: "settle_reservations" },
    find: "(c.place is not null or v_over)",
    replace: "c.place is not null",
    tests: budgetsOfEngine("whose call left no record when its turn ended counts in full"),
    why: "a call that left no record is free",
  },
  {
    id: "grant_budget.fenced",
    at: { sql: "grant_budget" },
    find: "if v_ended then return jsonb_build_object('outcome', 'fenced'); end if;",
    replace: "",
    tests: budgets("a process that was taken over is lent nothing"),
    why: "a process that was taken over borrows on",
  },
  {
    id: "grant_budget.limit",
    at: { sql: "grant_budget" },
    find: "greatest(p_limit - k.used - k.lent, 0)",
    replace: "greatest(p_limit - k.used, 0)",
    tests: budgets("a pool lends what is wanted, then what is left"),
    why: "processes together are lent more than there is",
  },
  {
    id: "grant_budget.used",
    at: { sql: "grant_budget" },
    find: "greatest(p_limit - k.used - k.lent, 0)",
    replace: "greatest(p_limit - k.lent, 0)",
    tests: budgets("what was used of a pool is not lent again"),
    why: "what was used is lent again",
  },
  {
    id: "grant_budget.need",
    at: { sql: "grant_budget" },
    find: "if v_left >= p_need then",
    replace: "if true then",
    tests: budgets("a pool lends what is wanted, then what is left"),
    why: "a process is lent what no call can use",
  },
  {
    id: "charge_call.pool",
    at: { sql: "charge_call" },
    find: "if k.used + k.lent + l.amount > l.most then",
    replace: "if k.used + l.amount > l.most + k.lent + l.amount then",
    tests: budgets("a call outside of turns takes what a pool has left"),
    why: "calls outside of turns spend what is lent or used",
  },
  {
    id: "charge_call.exact-fit",
    at: { sql: "charge_call" },
    find: "if k.used + k.lent + l.amount > l.most then",
    replace: "if k.used + k.lent + l.amount >= l.most then",
    tests: budgets("a call outside of turns takes what a pool has left"),
    why: "what fits exactly is refused",
  },
  {
    id: "charge_call.path",
    at: { sql: "charge_call" },
    find:
      "    if v_used + l.amount > l.most then\n      return jsonb_build_object('outcome', " +
      "'exceeded', 'key', l.scope",
    replace:
      "    if false then\n      return jsonb_build_object('outcome', 'exceeded', 'key', l.scope",
    tests: budgetsOfEngine("keep to the money of the port and of the run"),
    why: "a port spends beyond its money",
  },
  {
    id: "charge_call.session",
    at: { sql: "charge_call" },
    find:
      "      if v_used + l.amount > l.most then\n        return jsonb_build_object('outcome', " +
      "'exceeded', 'scope', 'session'",
    replace:
      "      if false then\n        return jsonb_build_object('outcome', 'exceeded', 'scope', 'session'",
    tests: budgetsOfEngine("that fold a memory are charged to the session and the team"),
    why: "folding a memory spends beyond the session's bound",
  },
  {
    id: "charge_call.at-rest",
    at: { sql: "charge_call" },
    find: "where id = p->>'session' and running_turn is null for update",
    replace: "where id = p->>'session' for update",
    tests: budgets("a call outside of turns takes what a pool has left"),
    why: "a session spends beside its running turn, and neither sees the other",
  },
  {
    id: "release_budget.open",
    at: { sql: "release_budget" },
    find: "set used = used + b.open, lent",
    replace: "set lent",
    tests: budgets("what a dead process had under way counts as used"),
    why: "what a dead process had under way is lent to others",
  },
  {
    id: "release_budget.rest",
    at: { sql: "release_budget" },
    find: "lent = lent - b.rest, touched_at",
    replace: "touched_at",
    tests: budgets("what a dead process had under way counts as used"),
    why: "what a dead process had borrowed is lost for ever",
  },
  {
    id: "prices.dated",
    at: { file: "packages/dure/src/models/prices.ts" },
    find: "(?:\\d{8}|\\d{4}-\\d{2}-\\d{2}|latest)$",
    replace: "(?:\\d{8}|latest)$",
    tests: prices("a version costs what its model costs"),
    why: "a dated model costs nothing",
  },
  {
    id: "prices.dated.whole",
    at: { file: "packages/dure/src/models/prices.ts" },
    find: "(?:\\d{8}|\\d{4}-\\d{2}-\\d{2}|latest)$",
    replace: "(?:\\d{8}|\\d{4}-\\d{2}-\\d{2}|latest)",
    tests: prices("a version costs what its model costs"),
    why: "another model is charged as the one whose name its own begins with",
  },
  {
    id: "prices.dated.own",
    at: { file: "packages/dure/src/models/prices.ts" },
    find: "prices[name] ?? prices[name.replace(",
    replace: "prices[name.replace(",
    tests: prices("a version with a price of its own has that one"),
    why: "the price of a version is that of another one",
  },
];
