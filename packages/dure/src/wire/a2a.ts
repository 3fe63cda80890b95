import { z } from "zod";

/**
 * What `/a2a/v1` takes, in the JSON form of A2A 1.0: an empty text is as one that is not there.
 * Members that are not named are passed over. Source: specification/a2a.proto.
 */

const ID = 500;

const text = (most: number) =>
  z
    .string()
    .max(most)
    .nullish()
    .transform((value) => value || undefined);

/** What may stand in a header. */
const headerText = (most: number) =>
  text(most).refine((value) => value === undefined || /^[\x20-\x7e]*$/.test(value), {
    message: "has other characters than ASCII",
  });

const count = z.coerce.number().int().min(0).max(2_147_483_647);

export const A2aParams = z.object({ service: z.string().min(1).max(100) });
export const A2aPushParams = A2aParams.extend({
  task: z.string().min(1).max(200),
  config: z.string().min(1).max(200),
});
export const A2aTaskParams = A2aParams.extend({ task: z.string().min(1).max(200) });

const tenant = text(ID);

const part = z.looseObject({
  text: z.string().nullish(),
  raw: z.string().nullish(),
  filename: z.string().max(500).nullish(),
});

const message = z.looseObject({
  messageId: z.string().min(1).max(ID),
  contextId: text(200),
  taskId: text(ID),
  role: z.literal("ROLE_USER"),
  parts: z.array(part).min(1).max(1_000),
});

/** Where a client wants to be told of a task. */
const push = z.looseObject({
  tenant,
  id: text(200),
  url: z.string().min(1).max(2_000),
  token: headerText(2_000),
  authentication: z
    .looseObject({ scheme: headerText(100), credentials: headerText(4_000) })
    .nullish(),
});
export type A2aPush = z.output<typeof push>;

export const A2aPutPush = push.extend({ taskId: z.string().min(1).max(ID) });
export const A2aPushes = z.looseObject({ tenant, taskId: z.string().min(1).max(ID) });
export const A2aNamedPush = A2aPushes.extend({ id: z.string().min(1).max(200) });

export const A2aSend = z.looseObject({
  tenant,
  message,
  configuration: z
    .looseObject({
      acceptedOutputModes: z.array(z.string().max(200)).max(100).nullish(),
      historyLength: count.nullish(),
      returnImmediately: z.boolean().nullish(),
      taskPushNotificationConfig: push.nullish(),
    })
    .nullish(),
});
export type A2aSend = z.output<typeof A2aSend>;

export const A2aGet = z.looseObject({
  tenant,
  id: z.string().min(1).max(ID),
  historyLength: count.nullish(),
});

const flag = z.union([z.boolean(), z.enum(["true", "false"]).transform((told) => told === "true")]);

export const A2aList = z.looseObject({
  tenant,
  contextId: text(200),
  status: text(100),
  pageSize: z.coerce.number().int().min(0).max(100).nullish(),
  pageToken: text(200),
  historyLength: count.nullish(),
  statusTimestampAfter: text(100).refine(
    (at) => at === undefined || !Number.isNaN(Date.parse(at)),
    {
      message: "is no time",
    },
  ),
  includeArtifacts: flag.nullish(),
});
export type A2aList = z.output<typeof A2aList>;

export const A2aRpc = z.looseObject({
  jsonrpc: z.literal("2.0"),
  id: z.union([z.string().max(ID), z.int(), z.null()]).optional(),
  method: z.string().min(1).max(100),
  params: z.unknown().optional(),
});
export type A2aRpc = z.output<typeof A2aRpc>;
