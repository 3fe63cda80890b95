import { LAYERS } from "./context/context-scopes.ts";
import { type Glob, globMatches, globOf } from "./glob.ts";
import { expandBraces } from "./glob-text.ts";
import type { EffortMeter } from "./plan-effort.ts";

type Layer = keyof typeof LAYERS;

/** Layers that a role of the preset `hexagonal` does not own. Source: docs/spec/plans §5. */
const FOREIGN: Readonly<Partial<Record<string, readonly Layer[]>>> = {
  domain: ["infrastructure", "api"],
  infrastructure: ["domain"],
  api: ["domain", "infrastructure"],
};
/** In a single module the role Infrastructure has the application too. */
const ALSO_OWN: Readonly<Partial<Record<string, readonly string[]>>> = {
  infrastructure: ["**/application/**"],
};
const GLOBS = Object.entries(LAYERS).map(
  ([layer, globs]) => [layer as Layer, globs.map(globOf)] as const,
);

const LAYER_GLOBS = GLOBS.flatMap(([, globs]) => globs).length;

/**
 * The layer that a pattern stands in and that the role does not own; undefined where the pattern
 * names no layer, or the role's own one too. Pure.
 */
export function foreignLayer(role: string, pattern: string, meter: EffortMeter): Layer | undefined {
  const foreign = FOREIGN[role] ?? [];
  const own = (ALSO_OWN[role] ?? []).map(globOf);
  for (const alternative of expandBraces(pattern) ?? []) {
    const path = exampleOf(alternative);
    meter.spend(LAYER_GLOBS);
    if (own.some((glob) => globMatches(glob, path))) continue;
    const layers = GLOBS.flatMap(([layer, globs]) =>
      globs.some((glob) => globMatches(glob, path)) ? [layer] : [],
    );
    if (layers.some((layer) => layer === role)) continue;
    const found = layers.find((layer) => foreign.includes(layer));
    if (found) return found;
  }
  return undefined;
}

/** The pattern of these that forbids all of another one; undefined: none does. Pure. */
export function forbiddenBy(
  forbidden: readonly Glob[],
  pattern: string,
  meter: EffortMeter,
): string | undefined {
  const examples = (expandBraces(pattern) ?? []).map(exampleOf);
  const found = forbidden.find((glob) => {
    meter.spend(examples.length * glob.alternatives.length);
    return examples.some((path) => globMatches(glob, path));
  });

  return found?.text;
}

/** A path that the pattern matches as far as its folders are names. */
function exampleOf(pattern: string): string {
  const segments = pattern.split("/");
  return segments.map((segment) => (/[*?[\\]/.test(segment) ? "x" : segment)).join("/");
}
