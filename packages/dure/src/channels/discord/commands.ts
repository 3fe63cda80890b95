import { messageOf } from "../../kernel/errors.ts";
import type { ChannelPort } from "../../rooms/channel-adapter.ts";
import type { AccountApi } from "./account-api.ts";
import type { WireInteraction } from "./wire-forms.ts";

/** Source: "Application Commands: Application Command Option Type" 1. */
const SUB_COMMAND = 1;

function sub(name: string, en: string, ko: string): object {
  return { type: SUB_COMMAND, name, description: en, description_localizations: { ko } };
}

/**
 * The command of each bot: what it says of an agent is of the bot's own. Source: "Application
 * Commands: Application Command Structure"; type 1 is a slash command. Contexts are for commands that
 * are made known everywhere.
 */
const COMMAND = {
  name: "dure",
  type: 1,
  description: "Stops and shows what agents do here",
  description_localizations: { ko: "에이전트가 여기서 하는 일을 멈추고 보여 줘요" },
  options: [
    sub("stop", "Ends what runs in this channel or thread", "이 자리에서 하던 일을 멈춰요"),
    sub("pause", "Lets this agent begin nothing new", "이 에이전트를 멈춰 둬요"),
    sub("resume", "Lets this agent go on", "이 에이전트를 다시 시작해요"),
    sub("who", "Shows the agents and what they do", "에이전트와 하는 일을 보여 줘요"),
    sub("jobs", "Shows the jobs that were asked for here", "여기서 맡긴 작업을 보여 줘요"),
  ],
} as const;

/**
 * Makes the command known in a server. One of the same name is overwritten, and no other one of the
 * application is touched, so it may be repeated. Source: "Application Commands: Create Guild
 * Application Command". Never rejects: without the command there are the buttons and the dashboard.
 */
export async function registerCommand(
  { api, port, account }: { api: AccountApi; port: ChannelPort; account: string },
  { application, guild, signal }: { application: string; guild: string; signal: AbortSignal },
): Promise<void> {
  try {
    await api.request({
      method: "POST",
      route: `/applications/${application}/guilds/${guild}/commands`,
      body: COMMAND,
      doing: "make its command known",
      signal,
    });
  } catch (error) {
    if (signal.aborted) return;
    port.logger.warn(
      { account, guild },
      `${account} has no command /dure on the server ${guild} (${messageOf(error)}); ` +
        "invite it with the scope applications.commands",
    );
  }
}

/** The order that a command gives, as a button's value; undefined for other commands. Pure. */
export function orderIn({ data }: WireInteraction): string | undefined {
  if (data?.name !== COMMAND.name) return undefined;
  const chosen = data.options.find(({ type }) => type === SUB_COMMAND);

  return chosen && `order:${chosen.name}`;
}
