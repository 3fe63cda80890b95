/** The other side of an adapter: what `ChatInstance` of the package `chat` is there. */

import { messageOf } from "../../kernel/errors.ts";
import { isObject } from "../../kernel/json.ts";
import type { Logger } from "../../kernel/logger.ts";
import type { ChatHost, ChatLogger, ChatState, ChatWebhookOptions } from "./chat-types.ts";
import type { Deliveries } from "./delivery.ts";
import type { AccountEvents } from "./events.ts";

/** Characters of a line that an adapter logs. */
const LONGEST_LINE = 500;

export interface ChatHostParts {
  readonly events: AccountEvents;
  readonly deliveries: Deliveries;
  readonly state: ChatState;
  readonly logger: ChatLogger;
  readonly userName: string;
}

/** What adapters tell goes to `events`; what dure has no use for is a line of the log. */
export function chatHost({ events, deliveries, state, logger, userName }: ChatHostParts): ChatHost {
  const keep = (work: Promise<void>, options: ChatWebhookOptions | undefined): Promise<void> =>
    deliveries.keep(work, { isRepeated: isRepeated(options), waitUntil: options?.waitUntil });
  const noted = deliveries.noted(state);
  const unused = (what: string) => (): void => {
    logger.debug(`${what} was told, which dure has no use for`);
  };
  const unanswered = (what: string) => async (): Promise<undefined> => {
    logger.warn(`${what} was asked for, which dure does not have`);
    return undefined;
  };

  return {
    getLogger: () => logger,
    getState: () => noted,
    getUserName: () => userName,
    processMessage: (_adapter, threadId, message, options) =>
      keep(events.message(threadId, message), options),
    handleIncomingMessage: (_adapter, threadId, message) =>
      keep(events.message(threadId, message), undefined),
    processMessageUpdated: (event, options) => keep(events.updated(event), options),
    processMessageDeleted: (event, options) => keep(events.deleted(event), options),
    processAction: (event, options) => keep(events.pressed(event), options),
    processReaction: (event, options) => keep(events.reacted(event), options),
    processSlashCommand: (event, options) => keep(events.commanded(event), options),
    abortTurn: unanswered("the end of a turn"),
    processModalSubmit: unanswered("the answer to a form"),
    processOptionsLoad: unanswered("a list of options"),
    processModalClose: unused("a closed form"),
    processAgentSessionStopped: unused("the end of a session"),
    processAgentSessionTitleChanged: unused("the title of a session"),
    processAppContextChanged: unused("what a person looks at"),
    processAppHomeOpened: unused("an opened home page"),
    processAssistantContextChanged: unused("what a person looks at"),
    processAssistantThreadStarted: unused("the begin of a session"),
    processInstalled: unused("an installation"),
    processUninstalled: unused("the end of an installation"),
    processMemberJoinedChannel: unused("a new member"),
  };
}

/** An adapter that asks its platform itself says so, and asks again for what was not stored. */
function isRepeated(options: unknown): boolean {
  return isObject(options) && options["deduplicate"] === false;
}

/**
 * What an adapter logs, at the level below: it is told by dure too. Details are left out, but for an
 * error: words of people are in them.
 */
export function chatLogger(logger: Logger, account: string): ChatLogger {
  const line = (message: string, details: readonly unknown[]): string => {
    const error = details.map((one) => (isObject(one) ? one["error"] : one)).find(Boolean);
    const why = typeof error === "string" || error instanceof Error ? `: ${messageOf(error)}` : "";
    return `${account}: ${message}${why}`.slice(0, LONGEST_LINE);
  };
  const self: ChatLogger = {
    child: () => self,
    debug: () => {},
    info: (message, ...details) => logger.debug({ account }, line(message, details)),
    warn: (message, ...details) => logger.info({ account }, line(message, details)),
    error: (message, ...details) => logger.warn({ account }, line(message, details)),
  };

  return self;
}
