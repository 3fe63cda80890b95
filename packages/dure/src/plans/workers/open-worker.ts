/** The worker that a plan names, opened by its kind. */

import type { Clock } from "../../kernel/clock.ts";
import { parseModelNames } from "../../models/card.ts";
import { PRESETS } from "../agents/presets.ts";
import type { WorkerSpec } from "../plan.ts";
import { AcpWorker } from "./acp.ts";
import { CommandWorker } from "./command.ts";
import { ModelWorker, type ModelWorkerOptions } from "./model.ts";
import { OfflineWorker } from "./offline.ts";
import type { OfflineScript } from "./offline-script.ts";
import { workerError } from "./worker-error.ts";
import type { Worker } from "./worker.ts";

/** What a team gives as `plans.workers`: makes a worker for each try. */
export type OwnWorkers = Readonly<Record<string, OpenWorker>>;
/** Makes a worker of one kind. Called once in each process. */
export type OpenWorker = (parts: { readonly clock: Clock }) => Worker;

export interface WorkerParts {
  readonly clock: Clock;
  /** For `model`; the model itself comes from the plan. */
  readonly model: Omit<ModelWorkerOptions, "clock" | "llm">;
  /** For `offline`: what stands at the path `script`, read and checked. */
  readonly script: (path: string) => OfflineScript;
  /** For `own`: workers of the team, by name. Default none. */
  readonly own?: OwnWorkers | undefined;
  /** Path of Node.js as processes of a worker see it. Default: the one that runs dure. */
  readonly node?: string | undefined;
  /** Told to agents. */
  readonly version?: string | undefined;
  /** dure's own environment, for the variables that MCP servers are given. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
}

/** The worker that a plan asks for. Nothing is started yet. */
export function openWorker(spec: WorkerSpec, parts: WorkerParts): Worker {
  const { clock, node, version, env } = parts;
  switch (spec.kind) {
    case "acp":
      return new AcpWorker({ ...programOf(spec), clock, version, env });
    case "command":
      return new CommandWorker({ ...commandOf(spec), clock });
    case "model":
      return new ModelWorker({
        ...parts.model,
        llm: parseModelNames(spec.model),
        clock,
      });
    case "offline":
      return new OfflineWorker({
        script: spec.script === undefined ? undefined : parts.script(spec.script),
        clock,
        node,
      });
    case "own":
      return ownWorker(spec.name, parts);
  }
}

function programOf(spec: Extract<WorkerSpec, { kind: "acp" }>) {
  const { agent, command, mode, clientFiles, mcpServers } = spec;
  const usageOfLastCall = agent && PRESETS[agent].acp.usageOfLastCall;

  return { command, mode, clientFiles, mcpServers, usageOfLastCall };
}

function commandOf({ agent, command, prompt }: Extract<WorkerSpec, { kind: "command" }>) {
  return { command, prompt, prints: agent && PRESETS[agent].exec.prints };
}

function ownWorker(name: string, { own = {}, clock }: WorkerParts): Worker {
  const open = Object.hasOwn(own, name) ? own[name] : undefined;
  if (open) return open({ clock });
  const names = Object.keys(own).join(", ");
  throw workerError("WORKER_NOT_STARTED", `The team has no worker ${name}.`, {
    hint: `Name one of plans.workers of its configuration: ${names || "there is none"}.`,
  });
}
