import { DureError, messageOf } from "../../kernel/errors.ts";
import type { ChannelKind, ChannelParts } from "../channel-kind.ts";
import type { ChatBot } from "./account-link.ts";
import { ChatChannelAdapter } from "./chat-adapter.ts";
import type { ChatAdapter, ChatState } from "./chat-types.ts";
import { platformOf, type ChatPlatform } from "./platforms.ts";

/** A platform by adapters of the npm package `chat`. */
export interface ChatPlatformOptions {
  /**
   * Stands in `rooms.adapters`, in `ids` of rooms, and in the address of the webhook,
   * `/v1/channels/<name>/webhook`.
   */
  readonly name: string;
  /**
   * Makes the adapter of each agent that has an account, by the agent's id:
   * `{ ruda: () => createTelegramAdapter({ … }) }`. One adapter is one bot account.
   */
  readonly accounts: Readonly<Record<string, () => ChatAdapter | Promise<ChatAdapter>>>;
  /**
   * `webhook`: the platform posts to dure's server, and every process takes it. `polling`: the
   * adapter asks its platform itself, as that of Telegram can; it does so in one process. Default
   * `webhook`.
   */
  readonly hears?: "webhook" | "polling" | undefined;
  /** What is other than dure knows of the platform. */
  readonly limits?: Partial<ChatPlatform> | undefined;
  /**
   * Where an adapter keeps what it must know after a restart, such as a state adapter of `chat`.
   * Default: in the memory of the process, bounded.
   */
  readonly state?: ChatState | undefined;
  /** Milliseconds for one request of the platform. Default 10,000. */
  readonly timeoutMs?: number | undefined;
}

/**
 * Telegram, Microsoft Teams, Google Chat, WhatsApp, GitHub, Linear and others, by their adapters of
 * the npm package `chat`, which the application installs: `rooms: { adapters: [web(),
 * chatPlatform({ name: "telegram", accounts: { ruda: () => createTelegramAdapter() } })] }`.
 *
 * @throws CHAT_ADAPTER_UNMADE, CHAT_ADAPTERS_MIXED when it is opened
 */
export function chatPlatform(options: ChatPlatformOptions): ChannelKind {
  const { name, accounts } = options;

  return {
    name,
    channelIds: {
      of: () => undefined,
      hint: `ids: { ${name}: "<thread id of the adapter>" } (the log names it when something is said there)`,
    },
    hasAccount: (agent) => Object.hasOwn(accounts, agent),
    accountHint: (agent) => `Give chatPlatform({ accounts: { ${agent}: … } }).`,
    open: (parts) => openChat(options, parts),
  };
}

async function openChat(
  { name, accounts, hears, limits, state, timeoutMs }: ChatPlatformOptions,
  parts: ChannelParts,
): Promise<ChatChannelAdapter> {
  const own = Object.entries(parts.accounts).filter(([agent]) => Object.hasOwn(accounts, agent));
  const bots = await Promise.all(
    own.map(async ([agent, account]): Promise<ChatBot> => {
      const adapter = await made(accounts[agent]!, agent);
      return { agent, account, adapter };
    }),
  );
  const platform = { ...platformOf(oneName(bots)), ...limits };

  return new ChatChannelAdapter({
    name,
    bots,
    platform,
    isPolling: hears === "polling",
    state,
    channels: parts.channels,
    timeoutMs,
  });
}

async function made(
  make: () => ChatAdapter | Promise<ChatAdapter>,
  agent: string,
): Promise<ChatAdapter> {
  try {
    return await make();
  } catch (cause) {
    throw new DureError(
      "CHAT_ADAPTER_UNMADE",
      `The chat adapter of ${agent} could not be made: ${messageOf(cause)}`,
      { class: "input", hint: "Look at what its options and its variables are.", cause },
    );
  }
}

/** Places are of one platform. */
function oneName(bots: readonly ChatBot[]): string {
  const names = [...new Set(bots.map(({ adapter }) => adapter.name))];
  if (names.length > 1) {
    throw new DureError(
      "CHAT_ADAPTERS_MIXED",
      `One platform has adapters of ${names.join(", ")}.`,
      {
        class: "input",
        hint: "Give each platform a chatPlatform() of its own.",
      },
    );
  }

  return names[0] ?? "";
}
