import type { Member, OnViolation } from "../kernel/plans.ts";
import type { AgentName } from "./agents/presets.ts";
import type { PlanInput } from "./plan-schema.ts";
import type { BudgetLimit } from "../models/card.ts";
import type { NetworkPolicies } from "./network-needs.ts";
import type { NetworkPolicy } from "./sandbox/network.ts";

/**
 * A plan that was read and checked: every reference leads somewhere, no ports wait for each other.
 */
export interface Plan {
  /** The key `plan`. Stands in names of branches and folders. */
  readonly name: string;
  /**
   * Folder of the repository, from the folder of the plan; absent: the one that the run is asked
   * for.
   */
  readonly repository?: string;
  /** What the work starts from: a branch, a tag or a commit. Default `HEAD`. */
  readonly base: string;
  /** A shell command that runs once in each worktree. Of a plan that has not begun it may be `auto`. */
  readonly setup?: string;
  /** Each port's acceptance runs once before its first worker begins. Default: it does not. */
  readonly preflight?: true;
  /** A shell command that runs on the merged tree. */
  readonly integration?: string;
  readonly roles: RoleSet;
  readonly limits: PlanLimits;
  /** `audit`: violations are found after the fact, because it was asked for. Default `enforced`. */
  readonly isolation: "enforced" | "audit";
  /** How ports work: decided by numbers, or as the plan says. Default `auto`. */
  readonly mode?: PlanMode | undefined;
  /** Other numbers for `auto`. */
  readonly modeBounds?: Partial<ModeBounds> | undefined;
  /** What ports may read beside what they are given. Default `normal`. */
  readonly reading?: ReadIsolation | undefined;
  /**
   * `stop`: a worker is ended at its second request outside of its scope. `refuse`: each is refused
   * and recorded, and it goes on. `report`: as `refuse`, and changes outside its paths are left out
   * and recorded; otherwise they end its try. Default `stop`.
   */
  readonly violations: OnViolation;
  /** How far processes get. Default: agents to their model, everything else nowhere. */
  readonly network?: NetworkPolicies | undefined;
  /** `squash`: the result is taken over as one commit. Default `keep`: with its history. */
  readonly history?: "keep" | "squash" | undefined;
  /** Where a person may send the result. */
  readonly publish?: PlanPublish | undefined;
  /** What may leave with a result without a person's yes. */
  readonly mayLeave?: readonly MayLeave[] | undefined;
  readonly workers: PlanWorkers;
  readonly contracts: readonly Contract[];
  /** In the order of the file, at least one. */
  readonly ports: readonly Port[];
  /** Of a part of a plan: all ports of it. What the others own is theirs all the same. */
  readonly whole?: readonly Port[] | undefined;
}

/** One unit of work. */
export interface Port {
  readonly id: string;
  /** Default: the id. */
  readonly title: string;
  readonly goal: string;
  readonly role: string;
  /** Globs of what the implementer may write. `tests` and contracts are taken out of it. */
  readonly owns: readonly string[];
  /** Globs of what the tester may write. */
  readonly tests: readonly string[];
  /** Globs of what the pair may read beside its own; absent: as its role says. */
  readonly reads?: readonly string[];
  /** Ids of ports that must have succeeded before. Points from a port to what it needs. */
  readonly dependsOn: readonly string[];
  /** A shell command; its exit code decides, not a worker's word. */
  readonly acceptance: string;
  /**
   * A shell command (compile) that runs in each try of its port before the tests, again when the
   * tester changed something, and with what other ports made in its module.
   */
  readonly check?: string;
  /** Whether it may succeed without any change. Default `refused`. */
  readonly noChange?: "allowed";
  /** Whether tests may be removed or say less than before. Default: the operator is asked. */
  readonly weakerTests?: "allowed";
  /** `person`: once accepted it waits until a person approves it. Default: none. */
  readonly gate?: "person";
  readonly budget?: BudgetLimit;
  /** Goes before what the plan says; a port has no `setup` and no `integration`. */
  readonly network?: NetworkPolicies | undefined;
  /** Of all tries together, milliseconds. Default: `limits.timeoutPerPortMs`. */
  readonly timeoutMs: number;
}

/** A rule of `plans/leaving`, and a glob of the paths that may fall under it. */
export interface MayLeave {
  readonly rule: string;
  readonly path: string;
}

/** Nothing is sent unless a person asks for it. */
export interface PlanPublish {
  /** A remote of the repository, or an address. */
  readonly remote: string;
  /** Default: the branch of the result. */
  readonly branch?: string | undefined;
  /** The program that opens one. Default `none`. */
  readonly pullRequest: "gh" | "glab" | "none";
}

/** A file that several ports share: written first by its owner, then read-only for all. */
export interface Contract {
  readonly path: string;
  readonly by: "orchestrator";
}

/** Source of all defaults: docs/spec/plans §2. */
export interface PlanLimits {
  /** Ports that work at the same time. A pair counts as one. Default 3. */
  readonly maxConcurrency: number;
  /** `false`: one port after the other, regardless of `maxConcurrency`. Default true. */
  readonly parallelEnabled: boolean;
  /** Milliseconds. Default 30 min. */
  readonly timeoutPerPortMs: number;
  /** Tries of a pair before its port is escalated. Default 3. Also spelled `max_retries`. */
  readonly tries: number;
  /** When results are merged. Default `at_end`. */
  readonly merge: "at_end" | "as_ready";
  /** Of the whole run; absent: no bound but the team's. */
  readonly budget?: BudgetLimit;
  /**
   * Calls of models in the whole run; each start of a worker counts as one. Default: 1,000 for each
   * port.
   */
  readonly maxCalls?: number;
}

/**
 * `strict`: its own, what the plan names, and what its role gets. `normal`: also all that its
 * processes see, which is what no port owns, what it depends on, and the ports of its modules.
 * `open`: everything that is not forbidden.
 */
export type ReadIsolation = "strict" | "normal" | "open";

/**
 * `parallel`: side by side. `sequential`: one after the other, each with its own scope. `single`:
 * one after the other in one context. `auto`: decided by the plan and its files.
 */
export type PlanMode = "auto" | "parallel" | "sequential" | "single";

/** The numbers behind `auto`. */
export interface ModeBounds {
  /** Fewer files than this are one context. */
  readonly fewFiles: number;
  readonly manyFiles: number;
  readonly manyLayers: number;
  /** So many ports that wait for no other one work side by side, of however few modules. */
  readonly independent: number;
  readonly modules: number;
  readonly targets: number;
  readonly changes: number;
}

/** Which roles ports may have. */
export type RoleSet =
  | { readonly preset: "hexagonal"; readonly names: readonly string[] }
  /** A role is the name of a module; any name will do. */
  | { readonly preset: "modules" }
  | {
      readonly preset: "own";
      readonly names: readonly string[];
      readonly definitions: Readonly<Record<string, RoleDefinition>>;
    };

export interface RoleDefinition {
  readonly title?: string;
  /** Globs of what the role may read beside what its ports own and the contracts. */
  readonly reads?: readonly string[];
  /** Globs of what it must not read; they override all that allows it. */
  readonly forbidden?: readonly string[];
}

/**
 * Roles that a port may have under the preset. The orchestrator owns the contracts only, so it is
 * no port's. Source: docs/spec/plans §5.
 */
export const HEXAGONAL_ROLES = ["domain", "infrastructure", "api", "test"] as const;

/** The role whose ports come after all others and write tests only. Source: docs/spec/plans §5. */
export const TEST_ROLE = "test";

export interface PlanWorkers {
  readonly default?: WorkerSpec;
  readonly orchestrator?: WorkerSpec;
  /** By role, and for all `implementer`s and `tester`s. */
  readonly byRole: Readonly<Record<string, WorkerSpec>>;
}

/** Who works on ports: the keys of a worker in a plan. Source: docs/spec/plans §6. */
export type WorkerSpec = WorkerSurroundings &
  (
    | {
        readonly kind: "acp";
        readonly command: readonly string[];
        /** Of its session, set over the protocol. Default: the one that it starts in. */
        readonly mode?: string | undefined;
        /** `false`: it is served no files and no terminals. */
        readonly clientFiles?: false | undefined;
      }
    | { readonly kind: "model"; readonly model: string }
    | {
        readonly kind: "command";
        readonly command: readonly string[];
        readonly prompt: "stdin" | "file";
      }
    /**
     * `script`: path of a YAML or JSON file, from the folder of the plan; without one the worker
     * changes nothing.
     */
    | { readonly kind: "offline"; readonly script?: string }
    /** `name`: of `plans.workers` in the configuration of the team. */
    | { readonly kind: "own"; readonly name: string }
  );

/**
 * A server of the Model Context Protocol: a program that the agent starts in its sandbox, or one at
 * an address. In values `${NAME}` stands for a variable of dure's environment.
 */
export type McpServer =
  | {
      readonly name: string;
      readonly command: readonly string[];
      readonly env?: Readonly<Record<string, string>> | undefined;
    }
  | {
      readonly name: string;
      readonly url: string;
      readonly transport: "http" | "sse";
      readonly headers?: Readonly<Record<string, string>> | undefined;
    };

/**
 * What a worker's processes may use in addition to the tree and their scratch folder. Default:
 * nothing.
 */
export interface WorkerSurroundings {
  /** MCP servers of its agent. Default none. */
  readonly mcpServers?: readonly McpServer[] | undefined;
  /** The preset that the rest was made from. */
  readonly agent?: AgentName;
  /** Names of variables that are passed on from dure's own environment. Default none. */
  readonly env?: readonly string[];
  /** Variables with their values; they go before those of dure's environment. Default none. */
  readonly set?: Readonly<Record<string, string>>;
  /**
   * Paths below the home folder, such as `.claude/settings.json`, that are copied into the worker's
   * own home. Nothing is written back. Default: those of its preset.
   */
  readonly copyHome?: readonly string[];
  /**
   * Files and folders outside of the tree that it may write: absolute, or `~/…` for the home
   * folder. Default none.
   */
  readonly writable?: readonly string[];
  /**
   * Paths below the home folder, such as `.claude`, that stay visible although they may hold
   * secrets. Default none.
   */
  readonly allowHome?: readonly string[];
  /**
   * Paths below the home folder, such as `datasets`, that it sees, read-only. All else of the home
   * folder but toolchains is absent. Default none.
   */
  readonly readsHome?: readonly string[];
  /** How far its processes get. Goes before what the plan says. */
  readonly network?: NetworkPolicy | undefined;
}

/**
 * A plan in code. Gives back what it gets, typed; it is read and checked when it is loaded, so that
 * an error can name the file and line.
 *
 *     export default definePlan({ plan: "login", roles: "hexagonal", workers: {…}, ports: […] });
 */
export function definePlan(plan: PlanInput): PlanInput {
  return plan;
}

/**
 * Who works on ports of a role. A tester's own worker goes before its role's, the role's before that
 * of all implementers, and both before the default. Undefined only for a role that the plan does not
 * have.
 */
export function workerOf(
  workers: PlanWorkers,
  role: string,
  member: Member = "implementer",
): WorkerSpec | undefined {
  if (member === "orchestrator" || role === "orchestrator") {
    return workers.orchestrator ?? workers.default;
  }
  const named = (name: string): WorkerSpec | undefined =>
    Object.hasOwn(workers.byRole, name) ? workers.byRole[name] : undefined;
  const ofTester = member === "tester" ? named("tester") : undefined;
  const ofImplementer = named("implementer");
  if (member === "implementer") return named(role) ?? ofImplementer ?? workers.default;

  return ofTester ?? named(role) ?? workers.default ?? ofImplementer;
}

/** Ports that may work at the same time. Pure. */
export function concurrencyOf(
  limits: Pick<PlanLimits, "maxConcurrency" | "parallelEnabled">,
): number {
  return limits.parallelEnabled ? limits.maxConcurrency : 1;
}
