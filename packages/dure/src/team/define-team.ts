import type { TeamOptions } from "./config.ts";

/**
 * A team in code. Gives back what it gets, typed; it is read and checked when the team starts, so
 * that an error can name the file and line.
 *
 *     export default defineTeam({ name: "두레", locale: "ko", services: { faq } });
 */
export function defineTeam(options: TeamOptions): TeamOptions {
  return options;
}
