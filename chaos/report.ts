import { cpus, totalmem, type as system, release } from "node:os";
import type { Counts } from "./checks.ts";
import type { ModeName } from "./modes.ts";
import { FAULT_KINDS, type FaultKind } from "./timeline.ts";
import { INVARIANTS, type Violation } from "./violations.ts";

/** The outcome of a run, as it is printed and written. */
export interface Summary {
  readonly seed: number;
  readonly mode: ModeName;
  readonly machine: string;
  readonly network: string;
  readonly faults: {
    readonly planned: number;
    readonly done: number;
    readonly byKind: Readonly<Partial<Record<FaultKind, number>>>;
  };
  readonly counts: Counts;
  readonly requests: Counts;
  readonly seconds: { readonly load: number; readonly settling: number; readonly all: number };
  readonly violations: readonly Violation[];
}

export function machineName(): string {
  const [cpu] = cpus();
  return (
    `${cpus().length} × ${cpu?.model.trim() ?? "unknown CPU"}, ` +
    `${Math.round(totalmem() / 2 ** 30)} GB, ${system()} ${release()}, Node ` +
    process.versions.node
  );
}

/** The summary as lines of text. */
export function tableOf(summary: Summary): readonly string[] {
  const { faults, counts, requests, seconds, violations } = summary;
  const kinds = Object.keys(FAULT_KINDS) as FaultKind[];
  const perInvariant = INVARIANTS.map(
    (name) => [name, violations.filter(({ invariant }) => invariant === name).length] as const,
  ).filter(([, count]) => count > 0);
  return [
    `mode ${summary.mode} · seed ${summary.seed} · ${summary.machine} · ${summary.network}`,
    "",
    `faults: ${faults.done} done of ${faults.planned} planned`,
    ...rows(
      kinds.flatMap((kind) =>
        faults.byKind[kind] === undefined ? [] : [[kind, faults.byKind[kind]] as const],
      ),
    ),
    "load and checks",
    ...rows(Object.entries(counts)),
    "requests of clients",
    ...rows(Object.entries(requests)),
    `seconds: load ${seconds.load}, settling ${seconds.settling}, in all ${seconds.all}`,
    `violations: ${violations.length}`,
    ...rows(perInvariant),
  ];
}

function rows(entries: readonly (readonly [string, number])[]): readonly string[] {
  return entries.map(([name, count]) => `  ${name.padEnd(28)} ${String(count).padStart(7)}`);
}
