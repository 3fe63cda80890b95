import { mkdir, mkdtemp, realpath, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../../kernel/clock.ts";
import { policyOfWorker, type NetworkFacts } from "../network-needs.ts";
import type { WorkerSpec } from "../plan.ts";
import { PROCESS_LIMITS } from "../rows/step-log.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import { makeScope } from "../scope.ts";
import { AcpWorker } from "../workers/acp.ts";
import { CommandWorker } from "../workers/command.ts";
import type { Assignment, Worker, WorkerError } from "../workers/worker.ts";
import { throughDoor } from "../calls/through-door.ts";
import { variablesOf } from "./given-variables.ts";
import { memberPlace, prepareHome } from "./member-home.ts";
import { PRESETS } from "./presets.ts";

/** Longest wait for one answer, milliseconds: a first start may fetch the agent's parts. */
const ANSWER_MS = 90_000;
const PROMPT = "Reply with the single word ready. Change no file, and use no tool.";

export type AcpAgentSpec = Extract<WorkerSpec, { readonly kind: "acp" | "command" }>;

/** What one call of an agent in the sandbox came to. */
export interface AgentTrial {
  /** As the plan names it, else its program. */
  readonly name: string;
  /** As it calls itself over the protocol. */
  readonly version?: string | undefined;
  readonly tookMs: number;
  /** Its answer, or why there is none. */
  readonly answer?: string | undefined;
  readonly error?: WorkerError | undefined;
}

export interface TrialParts {
  readonly sandbox: Sandbox;
  readonly clock: Clock;
  /** A folder of ours, in which one is made and removed. */
  readonly folder: string;
  /** Home folder of the person. */
  readonly home: string | undefined;
  readonly network: NetworkFacts;
}

/** Whether a worker is an agent that can be asked a question. Pure. */
export function isAgent(spec: WorkerSpec): spec is AcpAgentSpec {
  return spec.kind === "acp" || (spec.kind === "command" && spec.agent !== undefined);
}

/**
 * Asks an agent one question, as a plan would start it: its program, its login and its model show
 * here, and not in the first run. Throws the signal's reason alone.
 */
export async function tryAgent(
  spec: AcpAgentSpec,
  parts: TrialParts,
  { signal }: { signal: AbortSignal },
): Promise<AgentTrial> {
  const { clock, folder } = parts;
  const began = clock.monotonic();
  const at = await realpath(await mkdtemp(join(folder, "agent-")));
  let version: string | undefined;
  const opened = workerOf(spec, parts, (agent) => (version = `${agent.name} ${agent.version}`));
  const worker = throughDoor(opened, spec, { env: parts.network.env, home: parts.home, clock });
  try {
    const assignment = await assignmentIn(at, spec, parts);
    for await (const event of worker.run(assignment, { signal })) {
      if (event.type !== "result") continue;
      const { status, summary, error } = event.result;
      const hint = spec.agent === undefined ? error?.hint : PRESETS[spec.agent].signIn;

      return {
        name: spec.agent ?? spec.command[0]!,
        version,
        tookMs: clock.monotonic() - began,
        answer: status === "failed" ? undefined : summary,
        error: error && (error.code === "WORKER_LOGIN" ? { ...error, hint } : error),
      };
    }
    throw new Error("A worker ends with a result.");
  } finally {
    await rm(at, { recursive: true, force: true });
  }
}

function workerOf(
  spec: AcpAgentSpec,
  { clock, network: { env } }: TrialParts,
  onAgent: (agent: { readonly name: string; readonly version: string }) => void,
): Worker {
  const { command } = spec;
  if (spec.kind === "command") {
    const prints = spec.agent && PRESETS[spec.agent].exec.prints;
    return new CommandWorker({ command, prompt: spec.prompt, prints, clock });
  }
  const { mode, clientFiles, mcpServers } = spec;

  return new AcpWorker({ command, mode, clientFiles, mcpServers, env, clock, onAgent });
}

async function assignmentIn(
  at: string,
  spec: AcpAgentSpec,
  { sandbox, home, network }: TrialParts,
): Promise<Assignment> {
  const tree = join(at, "tree");
  const place = memberPlace(at, "implementer");
  await mkdir(tree);
  await prepareHome(place, spec, { home, env: network.env });

  return {
    id: "trial",
    run: "trial",
    plan: "trial",
    port: "trial",
    member: "implementer",
    try: 1,
    prompt: PROMPT,
    scope: makeScope({ writes: [], reads: ["**"], contracts: [] }),
    tree,
    scratch: place.folder,
    sandbox,
    confinement: {
      cwd: tree,
      writable: [place.folder],
      readOnly: [],
      hidden: [],
      disposable: [],
      network: policyOfWorker(spec, { plan: {}, port: undefined }, network),
    },
    env: { ...variablesOf(spec, network.env), HOME: place.home, TMPDIR: place.tmp },
    limits: { ...PROCESS_LIMITS, timeMs: ANSWER_MS },
    onStart: async () => {},
    channel: { query: async () => "Decide by yourself.", letters: async () => [] },
    requestAccess: async () => ({ granted: false, note: "Nothing more is needed." }),
    stopAtViolation: 2,
  };
}
