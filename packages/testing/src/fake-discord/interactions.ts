import { interactionPayload } from "./payloads.ts";
import { REFUSALS } from "./refusal.ts";
import type { World } from "./world.ts";
import type { Interaction, Message, MessageDraft, ShownAnswer, User } from "./world-facts.ts";

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
    const interaction: Interaction = {
      id: this.#world.snowflake(),
      token: `interaction-${this.#world.snowflake()}`,
      bot: message.author,
      person,
      message,
      customId,
      createdAt: this.#world.clock.now(),
      answered: undefined,
      ephemeral: false,
      show,
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
      reaches: (bot) => bot === message.author,
      data: (view) =>
        interactionPayload(interaction, view, {
          app: this.#world.permissions(message.author, message.place),
          person: this.#world.permissions(person, message.place),
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

    interaction.answered = type;
    interaction.ephemeral = ((data.flags ?? 0) & 64) !== 0;
    if (type === 4) this.#showAnswer(interaction, data);

    if (type === 7) {
      this.#world.messages.edit(interaction.bot, interaction.message, data);
      interaction.show({ text: interaction.message.text, ephemeral: false });
    }

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
    } else this.#world.messages.edit(interaction.bot, interaction.message, data);
  }

  #showAnswer(interaction: Interaction, data: MessageDraft): void {
    if (!interaction.ephemeral) {
      this.#world.messages.create(interaction.bot, interaction.message.place, data);
    }
    interaction.show({ text: data.content ?? "", ephemeral: interaction.ephemeral });
  }
}
