import { z } from "zod";
import { closest } from "../kernel/closest.ts";
import { isObject } from "../kernel/json.ts";
import { camelCase } from "../kernel/wire.ts";

/** Unknown keys of one object that are compared with all known ones; of 80,000 keys it took 3 s. */
const MAX_SUGGESTIONS = 50;

/**
 * An object as people write it in files: keys in camelCase or snake_case, never both for one
 * setting, and no unknown key without a word about the one that was probably meant. `aliases` maps
 * another spelling to the key of the shape.
 */
export function fileObject<Shape extends z.ZodRawShape>(
  shape: Shape,
  aliases: Readonly<Record<string, string>> = {},
) {
  const known = Object.keys(shape);
  const read = z.transform((value: unknown, context) => {
    if (!isObject(value)) return value;

    const members: Record<string, unknown> = {};
    const spelledAs = new Map<string, string>();
    let suggestionsLeft = MAX_SUGGESTIONS;

    for (const [written, member] of Object.entries(value)) {
      const key = aliases[camelCase(written)] ?? camelCase(written);
      if (!known.includes(key)) {
        context.addIssue({
          code: "custom",
          path: [written],
          message: suggestionsLeft-- > 0 ? unknownKey(written, known) : `unknown key "${written}"`,
        });
        continue;
      }
      const earlier = spelledAs.get(key);
      if (earlier !== undefined) {
        context.addIssue({
          code: "custom",
          path: [written],
          message: `"${earlier}" and "${written}" are one setting; keep one of them`,
        });
        continue;
      }
      spelledAs.set(key, written);
      if (member !== undefined) members[key] = member;
    }

    return members;
  });

  return z.pipe(read, z.object(shape));
}

function unknownKey(written: string, known: readonly string[]): string {
  const meant = closest(camelCase(written), known);
  const help = meant ? `did you mean "${meant}"?` : `known are ${known.join(", ")}`;
  return `unknown key "${written}"; ${help}`;
}
