import type * as socketMode from "@slack/socket-mode";
import type * as webApi from "@slack/web-api";
import { codeOf, DureError, messageOf } from "../../kernel/errors.ts";

/** Where Slack is. */
export const SLACK_API = "https://slack.com/api/";

/** The official clients. */
export interface SlackPackages {
  readonly WebClient: typeof webApi.WebClient;
  readonly SocketModeClient: typeof socketMode.SocketModeClient;
}

/**
 * The clients, loaded when they are first needed: they are optional peers of dure. @throws
 * SLACK_CLIENTS_MISSING
 */
export async function loadSlackPackages(): Promise<SlackPackages> {
  try {
    const [web, socket] = await Promise.all([
      import("@slack/web-api"),
      import("@slack/socket-mode"),
    ]);
    return { WebClient: web.WebClient, SocketModeClient: socket.SocketModeClient };
  } catch (error) {
    if (codeOf(error) !== "ERR_MODULE_NOT_FOUND" || !messageOf(error).includes("@slack/")) {
      throw error;
    }
    throw new DureError(
      "SLACK_CLIENTS_MISSING",
      "The Slack adapter needs the packages @slack/web-api and @slack/socket-mode.",
      {
        hint: "Install them beside dure: npm install @slack/web-api@^8.2.0 @slack/socket-mode@^3.1.0",
        cause: error,
      },
    );
  }
}

/** What the clients log; most of it is told by the adapter too. */
export function slackLogger(
  debug: (line: string) => void,
): NonNullable<webApi.WebClientOptions["logger"]> {
  const log = (...parts: unknown[]): void => debug(parts.map(String).join(" "));
  return {
    // Lines of level "debug" have tokens' owners and whole messages in them.
    debug: () => {},
    info: log,
    warn: log,
    error: log,
    setLevel: () => {},
    getLevel: () => "info" as never, // an enum whose value is this word
    setName: () => {},
  };
}
