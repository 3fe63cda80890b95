import type { StepKind } from "../../kernel/plans.ts";

/**
 * A place in the run tree: the build (depth 0), its operator (1), the workers under it (2). Source:
 * docs/spec/plans §1.
 */
export interface RunNode {
  readonly id: string;
  /** Null for the build. */
  readonly parent: string | null;
  /** The build's, which is the run's own id. */
  readonly root: string;
  /** Ids from the build down to this one. */
  readonly path: readonly string[];
  readonly depth: 0 | 1 | 2;
}

/** The run itself. */
export function buildNode(run: string): RunNode {
  return { id: run, parent: null, root: run, path: [run], depth: 0 };
}

/** The operator, who gets the run's escalations. */
export function operatorNode(run: string): RunNode {
  return under(buildNode(run), `${run}/operator`, 1);
}

/** One agent run on a port; the same before and after a crash. */
export function workerNode(
  run: string,
  step: { readonly port: string; readonly try: number; readonly kind: StepKind },
): RunNode {
  return under(operatorNode(run), `${run}/${step.port}/${step.try}/${step.kind}`, 2);
}

function under(parent: RunNode, id: string, depth: 1 | 2): RunNode {
  return { id, parent: parent.id, root: parent.root, path: [...parent.path, id], depth };
}
