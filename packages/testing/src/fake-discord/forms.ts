import { z } from "zod";
import { REFUSALS } from "./refusal.ts";

/*
 * The request bodies and queries that this double accepts. A field that the platform does not
 * document is refused here: the platform itself ignores most of them, but a misspelt field in a
 * test must not pass for one that works.
 */

const snowflake = z.string().regex(/^\d{1,20}$/u, "Value is not snowflake.");

/**
 * Source: "Message: Allowed Mentions Object". The same kind in `parse` and as a list is refused.
 */
const allowedMentions = z
  .strictObject({
    parse: z.array(z.enum(["roles", "users", "everyone"])).optional(),
    roles: z.array(snowflake).max(100).optional(),
    users: z.array(snowflake).max(100).optional(),
    replied_user: z.boolean().optional(),
  })
  .refine(({ parse, users }) => !(parse?.includes("users") === true && (users?.length ?? 0) > 0), {
    path: ["users"],
    message: 'parse:["users"] and users: [ids...] are mutually exclusive.',
  })
  .refine(({ parse, roles }) => !(parse?.includes("roles") === true && (roles?.length ?? 0) > 0), {
    path: ["roles"],
    message: 'parse:["roles"] and roles: [ids...] are mutually exclusive.',
  });

/**
 * Source: "Component Reference: Button". Styles 1 to 4 have a custom id of at most 100 characters,
 * a label at most 80.
 */
const button = z.strictObject({
  type: z.literal(2),
  id: z.number().int().optional(),
  style: z.number().int().min(1).max(4),
  label: z.string().min(1).max(80).optional(),
  emoji: z.looseObject({}).optional(),
  custom_id: z.string().min(1).max(100),
  disabled: z.boolean().optional(),
});

/**
 * Source: "Component Reference: Action Row": at most five rows of at most five buttons, custom ids
 * unique in a message.
 */
const components = z
  .array(
    z.strictObject({
      type: z.literal(1),
      id: z.number().int().optional(),
      components: z.array(button).min(1).max(5),
    }),
  )
  .max(5)
  .refine(
    (rows) => unique(rows.flatMap((row) => row.components.map((button) => button.custom_id))),
    "Component custom id cannot be duplicated",
  );

/**
 * Source: "Message: Create Message". Length is counted in UTF-16 units here; the platform's own
 * limit is 2,000 characters.
 */
const content = z.string().max(2000, "Must be 2000 or fewer in length.");
const files = z
  .array(z.looseObject({ id: z.union([z.string(), z.number()]), filename: z.string().optional() }))
  .max(10);

export const createMessage = z.strictObject({
  content: content.nullish(),
  /** Source: "Message Nonce": an integer or a string of at most 25 characters. */
  nonce: z
    .union([z.string().max(25, "Must be 25 or fewer in length."), z.number().int()])
    .optional(),
  enforce_nonce: z.boolean().optional(),
  tts: z.boolean().optional(),
  embeds: z.array(z.looseObject({})).max(10).optional(),
  allowed_mentions: allowedMentions.nullish(),
  message_reference: z
    .strictObject({
      type: z.literal(0).optional(),
      message_id: snowflake,
      channel_id: snowflake.optional(),
      guild_id: snowflake.optional(),
      fail_if_not_exists: z.boolean().optional(),
    })
    .optional(),
  components: components.nullish(),
  sticker_ids: z.array(snowflake).optional(),
  attachments: files.optional(),
  flags: z.number().int().optional(),
  poll: z.undefined().optional(),
});

/**
 * Source: "Message: Edit Message". Fields of a new message mean nothing here, but discord.js sends
 * them along.
 */
export const editMessage = z.strictObject({
  ...createMessage.pick({ tts: true, nonce: true, enforce_nonce: true, sticker_ids: true }).shape,
  content: content.nullish(),
  embeds: z.array(z.looseObject({})).max(10).nullish(),
  flags: z.number().int().nullish(),
  allowed_mentions: allowedMentions.nullish(),
  components: components.nullish(),
  attachments: files.nullish(),
});

/** Source: "Channel: Start Thread without Message" and "Start Thread from Message". */
const threadName = z.string().min(1).max(100, "Must be between 1 and 100 in length.");
const autoArchive = z
  .union([z.literal(60), z.literal(1440), z.literal(4320), z.literal(10080)])
  .optional();
const slowMode = z.number().int().min(0).max(21_600).nullish();
export const startThread = z.strictObject({
  name: threadName,
  auto_archive_duration: autoArchive,
  type: z.union([z.literal(10), z.literal(11), z.literal(12)]).optional(),
  invitable: z.boolean().optional(),
  rate_limit_per_user: slowMode,
});

/** Source: "Channel: Start Thread in Forum or Media Channel", "Forum and Media Thread Message Params". */
export const startPost = z.strictObject({
  name: threadName,
  auto_archive_duration: autoArchive,
  rate_limit_per_user: slowMode,
  message: createMessage.pick({ content: true, allowed_mentions: true, components: true }),
  applied_tags: z.array(z.string()).max(5).optional(),
});
export const startThreadFromMessage = z.strictObject({
  name: threadName,
  auto_archive_duration: autoArchive,
  rate_limit_per_user: slowMode,
});

/** Source: "Channel: Modify Channel", of a thread. */
export const modifyThread = z.strictObject({
  name: threadName.optional(),
  archived: z.boolean().optional(),
  auto_archive_duration: autoArchive,
  locked: z.boolean().optional(),
  invitable: z.boolean().optional(),
  rate_limit_per_user: slowMode,
});

export const createDirectMessage = z.strictObject({ recipient_id: snowflake });

/** Source: "Receiving and Responding: Interaction Callback Type". */
export const interactionCallback = z.strictObject({
  type: z.union([z.literal(4), z.literal(5), z.literal(6), z.literal(7)]),
  data: createMessage.partial().nullish(),
});

/**
 * Source: "Application Commands: Application Command Naming": lower case, 1 to 32 characters; a
 * description has 1 to 100. "Application Command Structure": at most 25 options.
 */
const commandName = z
  .string()
  .regex(/^[-_\p{L}\p{N}]{1,32}$/u, "Command name is invalid")
  .refine((name) => name === name.toLowerCase(), "Command name is invalid");
const commandTexts = {
  name: commandName,
  description: z.string().min(1).max(100),
  description_localizations: z.record(z.string(), z.string().min(1).max(100)).nullish(),
};
export const createCommand = z.strictObject({
  ...commandTexts,
  type: z.literal(1).default(1),
  options: z
    .array(z.strictObject({ ...commandTexts, type: z.number().int().min(1).max(11) }))
    .max(25)
    .default([]),
});

const limit = z.coerce
  .number()
  .int()
  .min(1, "Value should be greater than or equal to 1.")
  .max(100, "Value should be less than or equal to 100.");

/**
 * Source: "Channel: Get Channel Messages": `before`, `after` and `around` are mutually exclusive,
 * limit 1 to 100, 50 by default.
 */
export const listMessages = z
  .strictObject({
    limit: limit.default(50),
    before: snowflake.optional(),
    after: snowflake.optional(),
    around: snowflake.optional(),
  })
  .refine(
    ({ before, after, around }) =>
      [before, after, around].filter((id) => id !== undefined).length <= 1,
    {
      path: ["before"],
      message: "before, after and around are mutually exclusive.",
    },
  );

/** Source: "Channel: List Public Archived Threads": `before` is an ISO 8601 time. */
export const listArchivedThreads = z.strictObject({
  limit: limit.default(50),
  before: z.iso.datetime({ offset: true }).optional(),
});

/** The parsed form, or 400 with the code 50035 and the errors per field. */
export function parseForm<T>(form: z.ZodType<T>, value: unknown): T {
  const result = form.safeParse(value);
  if (result.success) return result.data;
  throw REFUSALS.invalidForm(errorTree(result.error.issues));
}

function errorTree(issues: readonly z.core.$ZodIssue[]): object {
  const tree: Record<string, unknown> = {};
  for (const issue of issues) {
    let node = tree;
    for (const key of issue.path) node = (node[String(key)] ??= {}) as Record<string, unknown>;
    const errors = (node["_errors"] ??= []) as object[];
    errors.push({ code: issue.code.toUpperCase(), message: issue.message });
  }

  return tree;
}

function unique(values: readonly string[]): boolean {
  return new Set(values).size === values.length;
}
