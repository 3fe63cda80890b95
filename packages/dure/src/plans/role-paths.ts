import { LAYERS } from "./context/context-scopes.ts";
import { globMatches, globOf } from "./glob.ts";
import { expandBraces } from "./glob-text.ts";

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

/**
 * The layer that a pattern stands in and that the role does not own; undefined where the pattern
 * names no layer, or the role's own one too. Pure.
 */
export function foreignLayer(role: string, pattern: string): Layer | undefined {
  const foreign = FOREIGN[role] ?? [];
  const own = (ALSO_OWN[role] ?? []).map(globOf);
  for (const alternative of expandBraces(pattern) ?? []) {
    const path = exampleOf(alternative);
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
export function forbiddenBy(forbidden: readonly string[], pattern: string): string | undefined {
  const examples = (expandBraces(pattern) ?? []).map(exampleOf);
  return forbidden.find((one) => examples.some((path) => globMatches(globOf(one), path)));
}

/** A path that the pattern matches as far as its folders are names. */
function exampleOf(pattern: string): string {
  const segments = pattern.split("/");
  return segments.map((segment) => (/[*?[\\]/.test(segment) ? "x" : segment)).join("/");
}
