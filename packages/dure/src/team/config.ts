import { LOCALES } from "../kernel/locales.ts";
import { mayLeave, networkPolicies } from "../plans/plan-schema.ts";
import { readFile } from "node:fs/promises";
import { isIP } from "node:net";
import path from "node:path";
import { z } from "zod";
import type { ChannelKind } from "../channels/channel-kind.ts";
import { KIND_NAMES, type ChannelChoice } from "../channels/kinds.ts";
import type { ByteStore } from "../durable/files/byte-store.ts";
import type { AnyService } from "../engine/service/combine.ts";
import { placeOfError } from "../engine/files/error-place.ts";
import { importModule } from "../engine/files/import-module.ts";
import { loadService, READY_TOOLS } from "../engine/files/load-service.ts";
import {
  codeDocument,
  problemAt,
  problemsError,
  problemsOf,
  readYaml,
  type Problem,
  type SettingsDocument,
} from "../engine/files/load-service-document.ts";
import { mcpServers } from "../engine/files/mcp-settings.ts";
import { readSkills, type Skill } from "../engine/files/skill-files.ts";
import {
  duration,
  id,
  memorySettings,
  oneOf,
  sentence,
  sessionSettings,
  settings,
  text,
  wholeNumber,
  yesOrNo,
} from "../engine/files/load-service-schema.ts";
import { systemClock } from "../kernel/clock.ts";
import { GATHER_POLICIES } from "../rooms/limits.ts";
import { codeOf, DureError, messageOf } from "../kernel/errors.ts";
import { isObject } from "../kernel/json.ts";
import { ROLE_NAME, ROLE_NAME_RULE } from "../kernel/escalation.ts";
import { TEAM_TOOLS } from "../engine/agent/team-tools.ts";
import type { AnyTool } from "../engine/agent/tool.ts";
import { withAgentFile, type KnownNames, type UnsavedFile } from "./agent-file.ts";
import { agentsInFolder } from "./agent-markdown.ts";
import { toolsInFolder, toolsOfAgents } from "./own-tools.ts";
import {
  cardSchema,
  parseBudgetLimit,
  type BudgetLimitInput,
  type CardInput,
  type Llm,
  type LlmInput,
} from "../models/card.ts";
import type { OfflineModel } from "../models/offline.ts";
import { configFilesIn } from "./config-files.ts";
import { relationProblems } from "./config-relations.ts";
import { withModulesOutside } from "./fresh-modules.ts";
import { MISSED_RULES } from "../schedules/decide-due.ts";
import { ruleProblem } from "../schedules/rule.ts";
import type { OpenWorker } from "../plans/workers/open-worker.ts";

// --- the schema: what may stand in dure.config.ts or dure.yaml. Defaults are in limits.ts, in one table.

const name = text.max(100, { error: "must be a text of at most 100 characters" });
const timeZone = z
  .string({ error: "must be an IANA name such as Asia/Seoul" })
  .refine(isTimeZone, { error: "must be an IANA name such as Asia/Seoul" });
const origin = z.string().refine((text) => URL.canParse(text) && new URL(text).origin === text, {
  error: "must be an origin such as https://app.example",
});

const hostName = z.string().regex(/^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(:\d{1,5})?$/i, {
  error: "must be a host name such as dure.example.com",
});
const proxy = z
  .string()
  .refine(isAddressRange, { error: "must be an address or a range such as 10.0.0.0/8" });

const llm = z.custom<LlmInput>().transform((value, context): Llm => {
  const card = cardSchema.safeParse({ llm: value });
  if (card.success && card.data.llm) return card.data.llm;

  for (const issue of card.error?.issues ?? []) {
    context.addIssue({
      code: "custom",
      path: issue.path.slice(1),
      message: issue.message.replace(/\.$/, ""),
    });
  }

  return z.NEVER;
});
/** Checked and left as it was written: it is read with what the agent's folder says. */
const card = z.custom<CardInput>().transform((value, context) => {
  const read = cardSchema.safeParse(value);
  if (read.success) return value;
  for (const issue of read.error.issues) {
    context.addIssue({ ...issue, code: "custom", message: issue.message });
  }

  return z.NEVER;
});
const budgetLimit = z.custom<BudgetLimitInput>().transform((value, context) => {
  try {
    if (typeof value === "string") return parseBudgetLimit(value);
    return parseBudgetLimit(budgetObject.parse(value) as BudgetLimitInput);
  } catch (error) {
    context.addIssue({
      code: "custom",
      message:
        error instanceof DureError
          ? sentence(error)
          : 'must be an amount such as "20 USD" or "50000 tokens", or {tokens, usd}',
    });

    return z.NEVER;
  }
});
const budgetObject = z.strictObject({
  tokens: z.int().min(0).optional(),
  usd: z.number().min(0).optional(),
});

/** Stands in addresses and ids of sessions; names in any script are `displayName` and `name`. */
const key = z
  .string({ error: "must be 1 to 64 Latin letters, digits, _ or -" })
  .regex(/^[A-Za-z0-9_-]{1,64}$/, {
    error: "must be 1 to 64 Latin letters, digits, _ or -; a name in any script is its displayName",
  });

const KINDS_WORDS = `must be ${KIND_NAMES.join(" or ")}`;
/** The name of a platform, or a kind of the team's own. */
const adapter = z.custom<ChannelChoice>(isChannelChoice, { error: KINDS_WORDS });
const adapterName = z.union(
  [z.string(), z.custom<ChannelKind>(isChannelKind).transform(({ name }) => name)],
  {
    error: KINDS_WORDS,
  },
);
const snowflake = z
  .string({ error: "must be a channel's id in quotes, 17 to 20 digits" })
  .regex(/^\d{5,20}$/, { error: "must be a channel's id in quotes, 17 to 20 digits" });

/** Of a user or a role on any platform. */
const platformId = z
  .string({ error: "must be an id in quotes" })
  .regex(/^[A-Za-z0-9]{2,40}$/, { error: "must be an id of 2 to 40 letters and digits" });

/** Its full name, `discord:general`; a key alone means the channel wherever it is. */
const place = z
  .string({ error: "must be a place such as general or discord:general" })
  .regex(/^[^\s:]{1,64}(:\S{1,200})?$/u, {
    error: "must be a place such as general or discord:general",
  });
const places = z.union([place, z.array(place).min(1).max(20)], {
  error: "must be a place such as general or discord:general, or a list with one for each platform",
});

const approvalRole = z.string().regex(ROLE_NAME, { error: ROLE_NAME_RULE });
const platformIds = z.array(platformId, { error: "must be a list of ids of users or roles" });

const fileStore = z.custom<string | ByteStore>(
  (value) => (typeof value === "string" ? value.trim() !== "" : isByteStore(value)),
  { error: "must be the path of a folder, or a store such as bucketStore({ url, fetch })" },
);

function isByteStore(value: unknown): value is ByteStore {
  const { name, ...deeds } = (value ?? {}) as Partial<ByteStore>;
  return (
    typeof name === "string" &&
    [deeds.put, deeds.get, deeds.delete].every((deed) => typeof deed === "function")
  );
}

const service = z.custom<AnyService | string>(
  (value) => (typeof value === "string" && value !== "") || isService(value),
  {
    error:
      "must be a service (defineService, combineServices, remoteService), or the folder of " +
      "one such as ./services/faq",
  },
);

const offlineModel = z.custom<OfflineModel>(
  (value) =>
    isObject(value) && typeof value.name === "string" && typeof value.respond === "function",
  {
    error: "must be a model made by offlineModel(name, respond)",
  },
);

const offlineModelsLoader = z.custom<() => Promise<readonly OfflineModel[]>>(
  (value) => typeof value === "function",
);

/** Who has to agree before a result is merged or published. */
const mergeRule = settings({
  /** People who approved the very commit. Default 0. */
  approvals: wholeNumber(0, 10).optional(),
  /** `author`: the person who began the run does not count. */
  not: oneOf(["author"]).optional(),
});

/** A repository that plans may work on. */
const repository = settings({
  /** From the folder of the team. */
  path: text,
  /** Tenants that it belongs to. Default: callers without a tenant. */
  tenants: z
    .array(id, { error: "must be a list of tenants" })
    .min(1, { error: "must name a tenant, or be left out" })
    .max(1_000)
    .optional(),
  /** Goes before `plans.merge`. */
  merge: mergeRule.optional(),
});

const ownWorker = z.custom<OpenWorker>((value) => typeof value === "function", {
  error: "must be a function that makes a worker",
});

/** A way in for another system: what its signed delivery does. */
const hook = settings({
  /** Such as `${DEPLOYS_SECRET}`: a value of dure's own environment. */
  secret: text.max(500),
  /** Owner of what is done. Default: none. */
  tenant: id.optional(),
  /** A message in this room of the web. */
  room: place.optional(),
  /** Or a job: in whose name, and who is asked. */
  agent: id.optional(),
  target: id.optional(),
  /** Or a run of this plan. */
  plan: text.max(100).optional(),
  /** Of the message or job; `{{ref}}` is a value of the delivery. Default: the delivery as JSON. */
  text: text.max(8_000).optional(),
});

/** Work that begins at a time. */
const schedule = settings({
  /** Five fields: minute, hour, day of the month, month, day of the week. */
  cron: text.max(100).superRefine((rule, context) => {
    const problem = ruleProblem(rule, systemClock.now());
    if (problem !== undefined) context.addIssue({ code: "custom", message: problem });
  }),
  /** In which the rule is read. Default: the team's. */
  timeZone: timeZone.optional(),
  /** What becomes of a moment that passed while no process ran. Default `skip`. */
  missed: oneOf(MISSED_RULES).optional(),
  /** Owner of what is done. Default: none. */
  tenant: id.optional(),
  /** A message in this room of the web. */
  room: place.optional(),
  /** Or a job: in whose name, and who is asked. */
  agent: id.optional(),
  target: id.optional(),
  /** Or a run of this plan. */
  plan: text.max(100).optional(),
  /** Of the message or job; `{{date}}` and `{{time}}` are those of the moment. */
  text: text.max(8_000).optional(),
});

/** Schedules that a team may have. Source: docs/spec/interop §6. */
const MOST_SCHEDULES = 100;

export const teamSchema = settings({
  /** Shown to people. Default: the folder's name. */
  name: name.optional(),
  /** Texts of errors and buttons, unless the session says otherwise. */
  locale: oneOf(LOCALES).optional(),
  timeZone: timeZone.optional(),
  /** Of every agent whose card names none. */
  model: llm.optional(),
  agents: z
    .record(
      key,
      settings({
        displayName: name.optional(),
        /** What its card in a chat says. */
        description: text
          .max(300, { error: "must be a text of at most 300 characters" })
          .optional(),
        /** The agent that answers where no other does. */
        leads: yesOrNo.optional(),
        /** Answers through this service instead of plain chat. */
        service: z.string({ error: "must be the name of a service" }).optional(),
        card: card.optional(),
        /**
         * Where its collaborations begin when the session has no channel: a place, or one for each
         * platform. Default: the team's.
         */
        channel: places.optional(),
        /** Account ids by adapter; default: the agent's id. */
        accounts: z
          .record(
            z.string(),
            text.max(100, { error: "must be an account id of at most 100 characters" }),
          )
          .optional(),
      }),
    )
    .optional(),
  /** Where agents and people talk. Absent, a team with agents has one web room, `general`. */
  rooms: settings({
    adapters: z
      .array(adapter, { error: `must be a list of adapters: ${KIND_NAMES.join(", ")}` })
      .min(1, { error: `must name at least one adapter: ${KIND_NAMES.join(", ")}` })
      .optional(),
    /** The allowlist, by key. */
    channels: z
      .record(
        key,
        settings({
          name: name.optional(),
          defaultAgent: id.optional(),
          /** Whether agents may begin collaborations here. Default true. */
          collaborate: yesOrNo.optional(),
          /** The platform's id of the channel, where it is on Discord too. */
          discord: snowflake.optional(),
          /** Its ids on Slack and on platforms of the team's own, by the name of their kind. */
          ids: z
            .record(key, text.max(200, { error: "must be an id of at most 200 characters" }))
            .optional(),
          /** On which adapters it is; default: the web, and Discord when `discord` is set. */
          adapters: z
            .array(adapterName, { error: `must be a list of adapters: ${KIND_NAMES.join(", ")}` })
            .optional(),
        }),
      )
      .optional(),
    /**
     * Where collaborations begin that have no channel of their own: a place such as
     * `discord:general`, or one for each platform. Default: the first channel.
     */
    defaultChannel: places.optional(),
    /** Whether bots that are no agents of this team are heard. Default no. */
    allowBots: yesOrNo.optional(),
    /**
     * Whether agents set 👀 below a message that they work on, and ✅ below one that they have nothing
     * to say to, on Discord and Slack. Default yes.
     */
    signs: yesOrNo.optional(),
    /** What becomes of messages that one person writes in a row. */
    gather: settings({
      /**
       * `gather`: one turn answers what was added before the running answer ended. `queue`: each has
       * an answer of its own. `interrupt`: more words end the running answer. Default `gather`.
       */
      policy: oneOf(GATHER_POLICIES).optional(),
      /** How long a person rests before an agent begins. Default 1.2 s. */
      rest: duration("0s", "1m").optional(),
      /** How long the first message waits at most. Default 8 s. */
      most: duration("0s", "5m").optional(),
    }).optional(),
    /**
     * Whether on Discord an answer is shown while it is written, by editing the message at most
     * once per second. Default no.
     */
    stream: yesOrNo.optional(),
    /**
     * Ids of users or roles of Discord, or of users of Slack, that may answer by buttons what waits
     * for a decision. Default: users who may manage the server or workspace.
     */
    approvers: platformIds.optional(),
    /**
     * Who has a role that an approval asks for, by its name: ids of users or roles of Discord, or of
     * users of Slack. They may say the yes by a button. Where two people are asked, each answers
     * with a token. Default: no one by a button.
     */
    roles: z.record(approvalRole, platformIds).optional(),
    /**
     * Where it is told what agents say to each other in the background: a channel or one for each
     * platform, an address, a file of NDJSON.
     */
    sink: settings({
      channel: places.optional(),
      webhook: z.url({ error: "must be an address" }).optional(),
      file: text.optional(),
      /**
       * Whether the address and the file are also told of work that began in a direct room, a
       * direct message or a private thread. Default no. A channel never is.
       */
      private: yesOrNo.optional(),
    }).optional(),
  }).optional(),
  /** Background work between agents. */
  jobs: settings({
    /**
     * Who may ask whom: `ruda -> eden`, `* -> reviewer-*`. Default: every agent may ask every
     * agent.
     */
    allow: z
      .array(
        text.regex(/^\s*\S+\s*->\s*\S+\s*$/, {
          error: 'must say who may ask whom, such as "ruda -> eden"',
        }),
        { error: 'must be a list such as ["ruda -> eden"]' },
      )
      .optional(),
    /** Exchanges that one agent answers at once. Default 3. */
    permits: wholeNumber(1, 100).optional(),
    /** Turns of a collaboration. Default 10. */
    maxTurns: wholeNumber(1, 50).optional(),
    keep: duration("1h", "365d").optional(),
    /** What all jobs of one root may use together. */
    treeTokens: wholeNumber(1, 1_000_000_000).optional(),
  }).optional(),
  /** What signed deliveries to `POST /v1/hooks/<name>` do, by name. */
  hooks: z.record(id, hook).optional(),
  /** `pushTo`: receivers of A2A inside the network that may be told of tasks, as `host:port`. */
  a2a: settings({
    pushTo: z
      .array(text.regex(/^[^\s/]+:\d{1,5}$/, { error: 'must be such as "10.0.0.7:4600"' }))
      .max(100)
      .optional(),
  }).optional(),
  /** What begins at a time, by name. */
  schedules: z
    .record(id, schedule)
    .refine((given) => Object.keys(given).length <= MOST_SCHEDULES, {
      error: `must be at most ${MOST_SCHEDULES} schedules`,
    })
    .optional(),
  /** MCP servers whose tools agents may have, by the name that cards use in `mcp`. */
  mcp: mcpServers.optional(),
  /** Sets of documents, by the name that cards use in `knowledge`. */
  knowledge: z
    .record(
      id,
      settings({
        /** Searches by meaning too, such as `openai:text-embedding-3-small`. */
        embedding: text.optional(),
        /** Cosine below which a part is about something else. Default 0.35. */
        floor: z.number().min(0).max(1).optional(),
      }),
    )
    .refine((bases) => Object.keys(bases).length <= 50, { error: "must be at most 50 bases" })
    .optional(),
  /**
   * Repositories that plans work on, by the name that plans and callers use. A tenant reaches those
   * that name it, and no others.
   */
  repositories: z
    .record(id, repository)
    .refine((given) => Object.keys(given).length <= 200, {
      error: "must be at most 200 repositories",
    })
    .optional(),
  /** Plans that worker pairs build on a repository. */
  plans: settings({
    /**
     * Plans may work on the team's own folder, and an administrator without a tenant may merge what
     * changes it: what is merged there runs as the server. Default: no.
     */
    ownFolder: yesOrNo.optional(),
    /** Who has to agree before a result is merged or published. Default: no person. */
    merge: mergeRule.optional(),
    /**
     * Where the commits of runs are kept beside this machine: a remote of the repository, or an
     * address. With it another machine goes on when this one is gone.
     */
    remote: text
      .regex(/^[^-\s]\S*$/, { error: "must be the name of a remote, or an address" })
      .optional(),
    /**
     * How far processes of plans get where a plan says nothing. Default: agents to their model,
     * everything else nowhere.
     */
    network: networkPolicies.optional(),
    /**
     * What may leave with a result without a person's yes: rules of findings, and globs of the
     * paths that may fall under them. Default: nothing.
     */
    mayLeave: mayLeave.optional(),
    /**
     * Memory that the processes of one worker may have together, in bytes. Default: half of the
     * machine's, and 4 GiB at most.
     */
    memoryBytes: z
      .int({ error: "must be a number of bytes" })
      .min(268_435_456, { error: "must be at least 268435456 (256 MiB)" })
      .optional(),
    /**
     * CPUs whose time the processes of one worker may take together, such as 1.5; it holds where
     * dure may make control groups. Default: all of the machine's but half of one.
     */
    cpus: z
      .number({ error: "must be a number of CPUs" })
      .min(0.1, { error: "must be at least 0.1" })
      .max(4_096, { error: "must be at most 4096" })
      .optional(),
    /**
     * What the processes of one worker may add to the disk, in bytes. Default: half of what is free
     * there, and 10 GiB at most.
     */
    diskBytes: z
      .int({ error: "must be a number of bytes" })
      .min(67_108_864, { error: "must be at least 67108864 (64 MiB)" })
      .optional(),
    /**
     * Lets workers run on a machine where dure may make no mounts: there they also read what every
     * user of the machine may. Default: false, such a machine runs no plan.
     */
    filesByModes: z.boolean().optional(),
    /** Workers of the team's own, by the name that plans use: `{ kind: own, name: … }`. */
    workers: z.record(key, ownWorker).optional(),
  }).optional(),
  /** Who is told of what waits for a decision, and when. The dashboard shows everything at once. */
  escalations: settings({
    /** The agent that is asked before people are. */
    operator: id.optional(),
    /** The channel, or one for each platform, where people are told, with the answers as buttons. */
    room: places.optional(),
    /** An address that gets a POST when people are to decide; signed with DURE_WEBHOOK_SECRET. */
    webhook: z
      .url({
        protocol: /^https?$/,
        error: "must be an address that begins with http:// or https://",
      })
      .optional(),
    /** How long the operator has before people are told, by severity. */
    after: settings({
      critical: duration("1s", "7d").optional(),
      high: duration("1s", "7d").optional(),
      medium: duration("1s", "7d").optional(),
    }).optional(),
  }).optional(),
  /** How people are told of what waits for them in web rooms, also while no page is open. */
  notify: settings({
    /** Whether what was said is in it. Default: yes; else it says who and where. */
    text: yesOrNo.optional(),
    /** How long a person has to read it on the page before they are told. Default 5s. */
    after: duration("1s", "1h").optional(),
    /** What one person is told within an hour. Default 60. */
    perHour: wholeNumber(1, 1_000).optional(),
    /** An address that gets a POST for each person; signed with DURE_WEBHOOK_SECRET. */
    webhook: z
      .url({
        protocol: /^https?$/,
        error: "must be an address that begins with http:// or https://",
      })
      .optional(),
    /** Where push services reach you: `mailto:` or `https:`. Apple's takes no made-up one. */
    contact: text
      .regex(/^(?:mailto:[^\s@]+@[^\s@]+|https:\/\/\S+)$/, {
        error: "must begin with mailto: or https://",
      })
      .optional(),
    /** Push services inside the network, as `host:port`. */
    pushTo: z
      .array(text.regex(/^[^\s/]+:\d{1,5}$/, { error: 'must be such as "10.0.0.7:443"' }))
      .max(100)
      .optional(),
  }).optional(),
  /** By name. The first one is the default. A team of agents alone needs none. */
  services: z.record(z.string(), service, { error: "must be services by name" }).default({}),
  limits: settings({
    /** `collaborate` calls of an unordered pair of agents. */
    pair: settings({
      calls: wholeNumber(1, 1_000).optional(),
      per: duration("1s", "24h").optional(),
    }).optional(),
    /** Agent messages of one thread or channel. */
    thread: settings({
      messages: wholeNumber(1, 1_000).optional(),
      per: duration("1s", "24h").optional(),
      suspend: duration("1s", "24h").optional(),
    }).optional(),
    /** Agent messages since a person or a `collaborate` spoke. */
    exchange: wholeNumber(1, 1_000).optional(),
    chainDepth: wholeNumber(1, 50).optional(),
    /** Threads that agents may make in one guild within a minute. */
    threadsPerMinute: wholeNumber(1, 1_000).optional(),
    /**
     * How long `collaborate` finds its last thread of a pair and topic, and how long a caller's own
     * key gives the first result.
     */
    route: duration("1m", "30d").optional(),
    callKey: duration("1s", "24h").optional(),
    /** How long `collaborate` waits for the platform before it says `queued`. */
    deliveryWait: duration("0s", "30s").optional(),
    /** Since a request: two reminders, then an operator is told. */
    reminders: settings({
      first: duration("1s", "30d").optional(),
      second: duration("1s", "30d").optional(),
      escalate: duration("1s", "30d").optional(),
    }).optional(),
    /** Participants are forgotten when their thread slept for this long. */
    participants: duration("1m", "90d").optional(),
    /** The second of two mentioned agents waits this long for the first. */
    secondaryWait: duration("0s", "10m").optional(),
    /** On Discord and Slack an answer that takes longer is announced, with a button to stop it. */
    workingNotice: duration("1s", "24h").optional(),
    /** An account without a ready connection for this long is offline. */
    offlineAfter: duration("1s", "1h").optional(),
    /** After a gap: messages younger than this are answered; so many are read per place. */
    missed: settings({
      age: duration("1s", "24h").optional(),
      messages: wholeNumber(1, 1_000).optional(),
    }).optional(),
    /** Records of what was heard: how many an agent is told, and how long they are kept. */
    observations: settings({
      count: wholeNumber(1, 50).optional(),
      keep: duration("1m", "30d").optional(),
    }).optional(),
    maxFillTurns: wholeNumber(1, 100).optional(),
    /** A yes counts for so long after its question was shown. */
    confirm: duration("10s", "24h").optional(),
    /** How long work waits for a model that cannot be reached. */
    patience: settings({
      /** In rooms, in jobs, after the answer to an escalation, and of workers of plans. */
      background: duration("0s", "24h").optional(),
      /** In every other session, whose caller waits for the answer. */
      chat: duration("0s", "1h").optional(),
    }).optional(),
    /** A request without a key is a repetition of one that ended so long ago; "0s": never. */
    repeats: duration("0s", "24h").optional(),
    sessionQueue: wholeNumber(0, 1_000).optional(),
    messageBytes: wholeNumber(1, 1_048_576).optional(),
  }).optional(),
  budgets: settings({
    turn: budgetLimit.optional(),
    session: budgetLimit.optional(),
    agent: settings({ day: budgetLimit.optional() }).optional(),
    team: settings({ day: budgetLimit.optional() }).optional(),
  }).optional(),
  memory: memorySettings.optional(),
  sessions: sessionSettings.optional(),
  server: settings({
    port: wholeNumber(0, 65_535).optional(),
    host: z
      .string({ error: "must be a host name or an IP address" })
      .regex(/^[\w.:-]+$/, { error: "must be a host name or an IP address" })
      .optional(),
    devMode: yesOrNo.optional(),
    /** Pages of other origins that may call the server. */
    origins: z
      .array(origin, { error: "must be a list of origins such as https://app.example" })
      .optional(),
    /** Names of this server in `Host` besides this machine's own. */
    allowedHosts: z
      .array(hostName, { error: "must be a list of host names such as dure.example.com" })
      .optional(),
    /** Proxies whose `X-Forwarded-For` says who asks. */
    trustProxy: z
      .array(proxy, { error: "must be a list of addresses or ranges such as 10.0.0.0/8" })
      .optional(),
    /** Also the user who runs the server needs a token or a login at its machine. */
    loginAlways: yesOrNo.optional(),
    /** How long turns and answers under way may take when the process is asked to end. */
    drain: duration("1s", "10m").optional(),
    /**
     * What comes in and who listens: docs/guides/limits.md. `perToken` is by default that of the
     * address it comes from.
     */
    limits: settings({
      headBytes: wholeNumber(4_096, 262_144).optional(),
      head: duration("1s", "5m").optional(),
      request: duration("1s", "1h").optional(),
      bodyIdle: duration("1s", "5m").optional(),
      keepAlive: duration("1s", "1h").optional(),
      planBytes: wholeNumber(65_536, 67_108_864).optional(),
      planTime: duration("1s", "5m").optional(),
      jsonDepth: wholeNumber(8, 200).optional(),
      jsonValues: wholeNumber(1_000, 1_000_000).optional(),
      slots: wholeNumber(1, 10_000).optional(),
      connections: wholeNumber(10, 1_000_000).optional(),
      connectionsPerAddress: wholeNumber(1, 1_000_000).optional(),
      connectionsPerLoopback: wholeNumber(1, 1_000_000).optional(),
      streams: wholeNumber(1, 1_000_000).optional(),
      streamsPerAddress: wholeNumber(1, 1_000_000).optional(),
      streamsPerLoopback: wholeNumber(1, 1_000_000).optional(),
      streamsPerToken: wholeNumber(1, 1_000_000).optional(),
      streamBytes: wholeNumber(16_384, 16_777_216).optional(),
      streamsBytes: wholeNumber(1_048_576, 8_589_934_592).optional(),
      stall: duration("1s", "10m").optional(),
      perAddress: wholeNumber(1, 10_000_000).optional(),
      perLoopback: wholeNumber(1, 10_000_000).optional(),
      perToken: wholeNumber(1, 10_000_000).optional(),
      logins: wholeNumber(1, 10_000).optional(),
    }).optional(),
  }).optional(),
  /** Files of conversations. Larger ones need a store: a folder that all processes share, or code. */
  files: settings({
    store: fileStore.optional(),
    fileBytes: wholeNumber(1, 20_971_520).optional(),
    sessionBytes: wholeNumber(1, 1_099_511_627_776).optional(),
    tenantBytes: wholeNumber(1, 1_125_899_906_842_624).optional(),
  }).optional(),
  database: settings({
    connections: wholeNumber(4, 200).optional(),
    wait: duration("0s", "1h").optional(),
    idle: duration("0s", "24h").optional(),
  }).optional(),
  retention: settings({
    turnEvents: duration("1h", "90d").optional(),
    events: duration("1h", "365d").optional(),
    /** Sessions that were not used for so long are forgotten, memory included. Default: none. */
    sessions: duration("1d", "3650d").optional(),
    /**
     * Turns and messages that are older go; state and memory of their session stay. Default: none.
     */
    turns: duration("1d", "3650d").optional(),
  }).optional(),
  /** What spans of OpenTelemetry hold. */
  telemetry: settings({
    /**
     * Prompts, answers, and what tools take and give, without secrets by name. Who reads the spans
     * reads them. Default false: numbers and ids alone.
     */
    texts: yesOrNo.optional(),
  }).optional(),
  /** USD per million tokens, by `provider:model`. */
  prices: z
    .record(
      z.string(),
      settings({
        in: z.number().min(0),
        out: z.number().min(0),
        cachedIn: z.number().min(0).optional(),
        cacheWrite: z.number().min(0).optional(),
      }),
    )
    .optional(),
  /**
   * Functions that answer as `offline:<name>`; only in code. A function that gives them is called
   * where the team's model is an offline one, so that production loads no stand-in.
   */
  offlineModels: z
    .union([z.array(offlineModel), offlineModelsLoader], {
      error: "must be a list of models made by offlineModel(name, respond), or a function of one",
    })
    .optional(),
});

/** What is given to `defineTeam`, or stands in dure.yaml. */
export interface TeamOptions extends z.input<typeof teamSchema> {}
/** The same, checked. Services may still be folders; `loadTeam` gives them loaded. */
export type TeamConfig = z.output<typeof teamSchema>;

// --- reading

/** A team as it stands in its folder. */
export interface LoadedTeam {
  readonly config: TeamConfig;
  /** In the order of the configuration; the first one is the default. */
  readonly services: Readonly<Record<string, AnyService>>;
  /** Absolute. Paths of the configuration start here. */
  readonly folder: string;
  /** Absent for a team that was given in code. */
  readonly document: SettingsDocument | undefined;
  /** Files of code outside of the folder that its own code imports; absent for a team in code. */
  readonly modules?: readonly string[] | undefined;
  /** Goes before the disk: a change that is checked before it is written. */
  readonly unsaved?: UnsavedFile | undefined;
  /** Those of `tools/` that cards of its agents name, by their names. */
  readonly tools?: Readonly<Record<string, AnyTool>> | undefined;
  /** Those of `skills/`, in the order of their names. */
  readonly skills?: readonly Skill[] | undefined;
}

/**
 * Reads the team of a folder. Throws `CONFIG_MISSING` or `CONFIG_INVALID` with every problem that
 * was found.
 */
export async function loadTeam(folder: string): Promise<LoadedTeam> {
  const root = path.resolve(folder);
  const { loaded, modules } = await withModulesOutside(root, async () => {
    const { document, problems } = await readConfig(findConfig(root), root);
    if (problems.length > 0) throw problemsError("CONFIG_INVALID", document.file, problems);

    return finish(checkTeam(document, root), root, document);
  });

  return { ...loaded, modules };
}

/** The same for a team that is given in code, as a library user does. */
export async function readTeam(options: TeamOptions, folder = "."): Promise<LoadedTeam> {
  const root = path.resolve(folder);
  const document: SettingsDocument = {
    file: "defineTeam",
    value: options,
    locate: () => undefined,
  };

  const { document: _, ...team } = await finish(checkTeam(document, root), root, document);

  return { ...team, document: undefined };
}

/** Checks the value of a document against the schema. Throws `CONFIG_INVALID`. */
export function checkTeam(document: SettingsDocument, folder: string): TeamConfig {
  const read = teamSchema.safeParse(document.value);
  if (!read.success) {
    throw problemsError("CONFIG_INVALID", document.file, problemsOf(read.error, document));
  }
  const config = withFolderAgents(read.data, folder);
  const problems = relationProblems({ config, document, folder });
  if (problems.length > 0) throw problemsError("CONFIG_INVALID", document.file, problems);

  return config;
}

/** Also those that the folder declares; what the configuration says of one stays. */
function withFolderAgents(config: TeamConfig, folder: string): TeamConfig {
  const found = agentsInFolder(folder);
  if (found.length === 0) return config;
  const added = found.filter((id) => config.agents?.[id] === undefined).map((id) => [id, {}]);

  return { ...config, agents: { ...config.agents, ...Object.fromEntries(added) } };
}

function findConfig(root: string): string {
  const found = configFilesIn(root);
  const [first, second] = found;

  if (first === undefined) {
    throw new DureError("CONFIG_MISSING", `${root} has no dure.config.ts and no dure.yaml.`, {
      class: "input",
      hint: "Go to the folder of your team, or make one: dure init my-team",
    });
  }

  if (second !== undefined) {
    throw new DureError(
      "CONFIG_TWICE",
      `${root} has ${found.join(" and ")}; a team has one configuration.`,
      { class: "input", hint: `Delete or rename ${second}.` },
    );
  }

  return path.join(root, first);
}

async function readConfig(
  file: string,
  root: string,
): Promise<{ document: SettingsDocument; problems: Problem[] }> {
  const shown = path.relative(root, file);
  const text = await readFile(file, "utf8");
  if (/\.ya?ml$/.test(file)) return readYaml(shown, text);

  let exports: Record<string, unknown>;

  try {
    exports = await importModule(file);
  } catch (cause) {
    // A problem that the module itself reports (a service that cannot be loaded) already says where
    // and what.
    if (cause instanceof DureError) throw cause;
    const place = placeOfError(cause, root);
    const isHere = place?.file === file;
    const at = isHere ? `${shown}:${place.line}` : shown;
    const within = place && !isHere ? `${path.relative(root, place.file)}:${place.line}: ` : "";
    throw new DureError(
      "CONFIG_UNREADABLE",
      `${at} cannot be loaded: ${within}${messageOf(cause)}`,
      {
        class: "input",
        hint: importHint(cause),
        cause,
      },
    );
  }

  const document = codeDocument(shown, exports.default, text);
  if (isObject(exports.default)) return { document, problems: [] };

  return {
    document,
    problems: [
      {
        file: shown,
        key: "",
        message: "has no team as its default export",
        hint: "Write: export default defineTeam({ … })",
      },
    ],
  };
}

async function finish(
  config: TeamConfig,
  folder: string,
  document: SettingsDocument,
): Promise<LoadedTeam> {
  const services: Record<string, AnyService> = {};
  const problems: Problem[] = [];

  for (const [key, given] of Object.entries(config.services)) {
    const loaded =
      typeof given === "string" ? await loadService(path.resolve(folder, given)) : given;
    if (loaded.name !== key) {
      problems.push({
        ...problemAt(document, ["services", key], `holds the service "${loaded.name}"`),
        allowed: `the service's own name as key: ${loaded.name}`,
      });
    }
    services[key] = loaded;
  }

  if (problems.length > 0) throw problemsError("CONFIG_INVALID", document.file, problems);
  const skills = await readSkills(folder);
  const whole = await withAgentFiles({ config, folder, skills });
  const tools = await toolsOfAgents(folder, whole);

  return { config: whole, services, folder, document, tools, skills };
}

/** With what the folders of its agents say. */
async function withAgentFiles(
  team: Pick<LoadedTeam, "config" | "folder" | "skills">,
): Promise<TeamConfig> {
  const { config, folder } = team;
  if (!config.agents) return config;
  const known = knownNames(team);
  const agents = Object.entries(config.agents).map(async ([id, agent]) => [
    id,
    await withAgentFile(id, agent, { folder: path.join(folder, "agents", id), known }),
  ]);

  return {
    ...config,
    agents: Object.fromEntries(await Promise.all(agents)) as typeof config.agents,
  };
}

/** What agents of this team may name in their cards. */
export function knownNames({
  config,
  folder,
  skills = [],
}: Pick<LoadedTeam, "config" | "folder" | "skills">): KnownNames {
  return {
    tools: [...Object.keys(READY_TOOLS), ...TEAM_TOOLS, ...toolsInFolder(folder)],
    mcp: Object.keys(config.mcp ?? {}),
    knowledge: Object.keys(config.knowledge ?? {}),
    skills: skills.map(({ name }) => name),
  };
}

function isChannelChoice(value: unknown): value is ChannelChoice {
  return typeof value === "string" ? KIND_NAMES.includes(value) : isChannelKind(value);
}

function isChannelKind(value: unknown): value is ChannelKind {
  return (
    isObject(value) &&
    typeof value["open"] === "function" &&
    /^[A-Za-z0-9_-]{1,64}$/.test(String(value["name"]))
  );
}

function isService(value: unknown): value is AnyService {
  return (
    isObject(value) &&
    ["service", "combined", "remote"].includes(String(value.kind)) &&
    typeof value.name === "string"
  );
}

function isAddressRange(text: string): boolean {
  const [address = "", prefix, ...rest] = text.split("/");
  const bits = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1;

  return (
    rest.length === 0 &&
    bits > 0 &&
    (prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= bits))
  );
}

function isTimeZone(zone: string): boolean {
  try {
    return new Intl.DateTimeFormat("en", { timeZone: zone }) instanceof Intl.DateTimeFormat;
  } catch {
    return false;
  }
}

function importHint(cause: unknown): string {
  if (codeOf(cause) === "ERR_MODULE_NOT_FOUND") {
    return "Check the path of the import (own files end in .ts), and run npm install.";
  }

  return "Run it alone to see where it fails: node dure.config.ts";
}
