/**
 * What each prompt of dure costs: `npm run prompts` prints its tokens by the estimate of
 * `packages/dure/src/models/prices.ts` (ASCII characters / 4, everything else UTF-8 bytes / 3), which
 * is at the upper side of what today's tokenizers need. `models/prompt-files.test.ts` has the bounds.
 */

import { LOCALES } from "../packages/dure/src/kernel/locales.ts";
import { builtInPrompt, PROMPT_NAMES } from "../packages/dure/src/models/prompt-files.ts";
import { estimateTokens } from "../packages/dure/src/models/prices.ts";

for (const name of PROMPT_NAMES) {
  for (const language of LOCALES) {
    const text = builtInPrompt(name, language);
    const tokens = String(estimateTokens(text)).padStart(6);
    process.stdout.write(`${`${name}.${language}`.padEnd(16)}${tokens} tokens\n`);
  }
}
