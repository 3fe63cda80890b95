/** What the world of the fake Slack consists of. Shapes follow `@slack/types` and the pages named. */

/** An app of the workspace with its bot user. */
export interface SlackApp {
  readonly appId: string;
  readonly botId: string;
  readonly userId: string;
  readonly name: string;
  botToken: string;
  appToken: string;
  readonly scopes: ReadonlySet<string>;
}

/** A person of the workspace. */
export interface SlackUser {
  readonly id: string;
  readonly name: string;
  readonly isAdmin: boolean;
}

/** A channel; `group`: a private one; `im`: the direct message of a person and an app; `mpim`: of several people and apps. */
export interface SlackChannel {
  readonly id: string;
  name: string;
  /** Source: docs.slack.dev/reference/events/message, `channel_type`. */
  kind: "channel" | "group" | "im" | "mpim";
  isArchived: boolean;
  /** Ids of users; of a bot its user's. */
  readonly members: Set<string>;
}

/** Source: docs.slack.dev/messaging/message-metadata. */
export interface SlackMetadata {
  readonly event_type: string;
  readonly event_payload: Readonly<Record<string, unknown>>;
}

/** Source: docs.slack.dev/reference/events/message. */
export interface SlackMessage {
  /** Unique in its channel, and the order in it. */
  readonly ts: string;
  readonly channel: string;
  readonly user: string;
  readonly botId: string | undefined;
  readonly appId: string | undefined;
  text: string;
  /** Of a message of the platform's own. */
  readonly subtype?: string | undefined;
  /** The `ts` of the root; of a root with replies its own. */
  readonly threadTs: string | undefined;
  readonly metadata: SlackMetadata | undefined;
  blocks: readonly SlackBlock[] | undefined;
  /** Source: scope `chat:write.customize`. */
  readonly username: string | undefined;
  readonly files: readonly SlackFile[];
  /** `user name`, one for each user and emoji. */
  readonly reactions: Set<string>;
  editedAt: string | undefined;
}

/** A file of a message; without `bytes` it is served to no one. */
export interface SlackFile {
  readonly id?: string | undefined;
  readonly name: string;
  readonly size?: number | undefined;
  /** As the sender's program says. Default `text/plain`. */
  readonly contentType?: string | undefined;
  readonly bytes?: Uint8Array | undefined;
}

/** The part of Block Kit that is checked. Source: docs.slack.dev/reference/block-kit/blocks. */
export interface SlackBlock {
  readonly type: string;
  readonly text?: { readonly type: string; readonly text: string } | undefined;
  readonly elements?: readonly SlackElement[] | undefined;
}

/** Source: docs.slack.dev/reference/block-kit/block-elements/button-element. */
export interface SlackElement {
  readonly type: string;
  readonly action_id?: string | undefined;
  readonly value?: string | undefined;
  readonly text?: { readonly type: string; readonly text: string } | undefined;
}

/** Why a method answers `{"ok": false}`. */
export class SlackRefusal extends Error {
  readonly error: string;
  readonly facts: Readonly<Record<string, unknown>>;

  /** @param error the word of the method's page, such as `not_in_channel`. */
  constructor(error: string, facts: Readonly<Record<string, unknown>> = {}) {
    super(error);
    this.name = "SlackRefusal";
    this.error = error;
    this.facts = facts;
  }
}
