import { interactionPayload } from "./payloads.ts";
import { REFUSALS } from "./refusal.ts";
import type { World } from "./world.ts";
import type {
  AppCommand,
  FakeChannel,
  Interaction,
  Message,
  MessageDraft,
  ShownAnswer,
  User,
} from "./world-facts.ts";

/**
 * An interaction's token can be used for 15 minutes. Source: "Receiving and
 * Responding: Followup Messages".
 */
const INTERACTION_TOKEN_MS = 15 * 60_000;

/** Buttons that people press, and what they are shown. */
export class Interactions {
  readonly #world: World;
  readonly #open = new Map<string, Interaction>();

  constructor(world: World) {
    this.#world = world;
  }

  get(id: string): Interaction | undefined {
    return this.#open.get(id);
  }

  values(): Iterable<Interaction> {
    return this.#open.values();
  }

  /**
   * A person presses a button: only the bot that posted it learns of it. Source: "Gateway Events:
   * Interaction Create".
   */
  press(
    person: User,
    message: Message,
    customId: string,
    show: (shown: ShownAnswer) => void,
  ): Interaction {
    return this.#begin({
      bot: message.author,
      person,
      place: message.place,
      message,
      customId,
      command: undefined,
      show,
    });
  }

  /**
   * A person gives a command: only its bot learns of it. Source: "Receiving and Responding:
   * Interaction Type" 2.
   */
  command(
    person: User,
    place: FakeChannel,
    given: { bot: User; known: AppCommand; sub: string },
    show: (shown: ShownAnswer) => void,
  ): Interaction {
    const { bot, known, sub } = given;
    const none = { message: undefined, customId: undefined };
    return this.#begin({ bot, person, place, ...none, command: { known, sub }, show });
  }

  #begin(
    facts: Omit<Interaction, "id" | "token" | "createdAt" | "answered" | "ephemeral">,
  ): Interaction {
    const { bot, person, place } = facts;
    const interaction: Interaction = {
      ...facts,
      id: this.#world.snowflake(),
      token: `interaction-${this.#world.snowflake()}`,
      createdAt: this.#world.clock.now(),
      answered: undefined,
      ephemeral: false,
    };

    for (const [id, old] of this.#open) {
      if (interaction.createdAt - old.createdAt > INTERACTION_TOKEN_MS) {
        this.#open.delete(id);
      }
    }

    this.#open.set(interaction.id, interaction);

    this.#world.publish({
      type: "INTERACTION_CREATE",
      intents: [],
      reaches: (reached) => reached === bot,
      data: (view) =>
        interactionPayload(interaction, view, {
          app: this.#world.permissions(bot, place),
          person: this.#world.permissions(person, place),
        }),
    });

    return interaction;
  }

  /**
   * Source: "Receiving and Responding: Create Interaction Response": within `windowMs`, and only
   * once.
   */
  answer(
    interaction: Interaction,
    type: number,
    data: MessageDraft & { flags?: number | undefined },
    windowMs: number,
  ): void {
    if (this.#world.clock.now() - interaction.createdAt > windowMs) {
      throw REFUSALS.unknownInteraction();
    }
    if (interaction.answered !== undefined) throw REFUSALS.alreadyAcknowledged();
    if (type === 4 && (data.content ?? "").trim() === "" && (data.embeds?.length ?? 0) === 0) {
      throw REFUSALS.emptyMessage();
    }

    // An update of the message needs one: a command has none.
    if (type >= 6 && interaction.message === undefined) throw REFUSALS.invalidForm({ type: {} });
    interaction.answered = type;
    interaction.ephemeral = ((data.flags ?? 0) & 64) !== 0;
    if (type === 4) this.#showAnswer(interaction, data);
    if (type === 7) this.#update(interaction, data);
    if (type === 6) interaction.show({ text: "", ephemeral: true });
  }

  /** Source: "Receiving and Responding: Edit Original Interaction Response". */
  editAnswer(interaction: Interaction, data: MessageDraft): void {
    if (
      interaction.answered === undefined ||
      this.#world.clock.now() - interaction.createdAt > INTERACTION_TOKEN_MS
    ) {
      throw REFUSALS.unknownWebhook();
    }
    if (interaction.answered === 4 || interaction.answered === 5) {
      this.#showAnswer(interaction, data);
    } else if (interaction.message) {
      this.#world.messages.edit(interaction.bot, interaction.message, data);
    }
  }

  #update({ bot, message, show }: Interaction, data: MessageDraft): void {
    if (message === undefined) return;
    this.#world.messages.edit(bot, message, data);
    show({ text: message.text, ephemeral: false });
  }

  #showAnswer(interaction: Interaction, data: MessageDraft): void {
    if (!interaction.ephemeral) {
      this.#world.messages.create(interaction.bot, interaction.place, data);
    }
    interaction.show({ text: data.content ?? "", ephemeral: interaction.ephemeral });
  }
}
