import { REFUSALS } from "./refusal.ts";
import type { AppCommand, User } from "./world-facts.ts";
import type { World } from "./world.ts";

/** Source: "Application Commands: Registering a Command": 100 slash commands of an app per guild. */
const MAX_COMMANDS = 100;

/** The commands that bots have made known, per guild and application. */
export class Commands {
  readonly #world: World;
  readonly #known = new Map<string, AppCommand[]>();

  constructor(world: World) {
    this.#world = world;
  }

  /** Source: "Application Commands: Create Guild Application Command": one of the same name is overwritten. */
  register(bot: User, guild: string, form: Omit<AppCommand, "id">): AppCommand {
    const known = this.#of(bot, guild);
    const at = known.findIndex(({ name }) => name === form.name);
    if (at < 0 && known.length >= MAX_COMMANDS) throw REFUSALS.tooManyCommands();
    const command = { ...form, id: known[at]?.id ?? this.#world.snowflake() };
    known.splice(at < 0 ? known.length : at, 1, command);
    return command;
  }

  find(bot: User, guild: string, name: string): AppCommand | undefined {
    return this.#of(bot, guild).find((command) => command.name === name);
  }

  #of(bot: User, guild: string): AppCommand[] {
    const key = `${bot.id}/${guild}`;
    const known = this.#known.get(key) ?? [];
    this.#known.set(key, known);
    return known;
  }
}
