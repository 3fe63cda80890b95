import { readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { isObject } from "../../kernel/json.ts";
import type { Clock } from "../../kernel/clock.ts";
import { PRESETS, type AgentName } from "../agents/presets.ts";
import type { WorkerSpec } from "../plan.ts";
import type { Sandbox, SandboxCommand } from "../sandbox/sandbox.ts";
import { PROXY } from "../sandbox/way-out.ts";
import type { Assignment, Worker } from "../workers/worker.ts";
import { ModelCalls } from "./model-desk.ts";
import { modelWays, withArgs, type ModelFiles, type ModelWays } from "./model-ways.ts";

export interface DoorFacts {
  /** dure's own environment: keys and addresses of models. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Home folder of the person. */
  readonly home: string | undefined;
  readonly clock: Clock;
}

/**
 * A worker whose calls of models go by dure's door, where that can be: each is counted as its
 * provider tells it, keys stay outside, and what keeps the provider from it is known at once. A
 * worker without a network of its own, or with models that are not known, works as it is.
 */
export function throughDoor(worker: Worker, spec: WorkerSpec, facts: DoorFacts): Worker {
  if (spec.kind !== "acp" && spec.kind !== "command") return worker;

  return {
    kind: worker.kind,
    async *run(assignment, options) {
      const led = await ledAssignment(assignment, spec, facts);
      yield* worker.run(led, options);
    },
  };
}

async function ledAssignment(
  assignment: Assignment,
  spec: AgentProgram,
  facts: DoorFacts,
): Promise<Assignment> {
  const { sandbox, confinement, limits, pay } = assignment;
  const { kind = "none" } = confinement.network ?? {};
  if (sandbox.promises.network !== "enforced" || kind === "none") return assignment;
  const files = await filesOf(spec, facts.home);
  const led = modelWays(spec, { env: facts.env, door: PROXY, files });
  if (led.ways.length === 0) return assignment;
  const { shared } = limits;
  const enter = shared?.enter?.bind(shared);
  const gate = enter && { enter };
  const isAgent = spec.kind === "acp" || spec.agent !== undefined;
  const calls = new ModelCalls({ ways: led.ways, gate, pay, clock: facts.clock, isAgent });

  return {
    ...assignment,
    calls,
    env: { ...assignment.env, ...led.env },
    sandbox: behindDoor(sandbox, { calls, led, spec }),
  };
}

type AgentProgram = Extract<WorkerSpec, { readonly kind: "acp" | "command" }>;

function behindDoor(
  sandbox: Sandbox,
  {
    calls,
    led: { args },
    spec,
  }: { readonly calls: ModelCalls; readonly led: ModelWays; readonly spec: AgentProgram },
): Sandbox {
  const program = programOf(spec);
  const lead = (what: SandboxCommand): SandboxCommand => {
    const { command } = what;
    if (typeof command === "string" || args.length === 0) return what;
    return { ...what, command: withArgs(command, program, args) };
  };

  return {
    kind: sandbox.kind,
    promises: sandbox.promises,
    spawn: (where, what, options) =>
      sandbox.spawn(where, lead(what), { models: calls, ...options }),
    run: (where, what, options) => sandbox.run(where, lead(what), { models: calls, ...options }),
  };
}

/** The name of the agent's program, which may stand behind others in its command. Pure. */
function programOf({ agent, kind, command }: AgentProgram): string | undefined {
  if (agent === undefined) return undefined;
  const { acp, exec } = PRESETS[agent];
  const program = (kind === "acp" ? acp : exec).command[0]!;

  return command.map((part) => basename(part)).includes(program) ? program : undefined;
}

async function filesOf({ agent }: WorkerSpec, home: string | undefined): Promise<ModelFiles> {
  if (agent === undefined || home === undefined) return {};
  const texts = await Promise.all(
    SETTINGS[agent].map((path) => readFile(join(home, path), "utf8").catch(() => undefined)),
  );
  if (agent !== "codex") {
    return { hasAddresses: texts.some((text) => text !== undefined && ADDRESS.test(text)) };
  }
  const [codexSettings, login] = texts;

  return { codexSettings, codexHasLogin: login !== undefined && hasTokens(login) };
}

/** Where the person's own settings of an agent may lead it elsewhere. */
const SETTINGS: Readonly<Record<AgentName, readonly string[]>> = {
  claude: [".claude/settings.json"],
  codex: [".codex/config.toml", ".codex/auth.json"],
  opencode: [".config/opencode/opencode.json", ".config/opencode/opencode.jsonc"],
  gemini: [".gemini/settings.json"],
  qwen: [".qwen/settings.json"],
};
const ADDRESS = /base_?url/i;

/** Whether a login of Codex is one with an account. Pure. */
function hasTokens(login: string): boolean {
  try {
    const value: unknown = JSON.parse(login);
    return isObject(value) && isObject(value["tokens"]);
  } catch {
    return true; // it cannot be read here, and may be by the agent
  }
}
