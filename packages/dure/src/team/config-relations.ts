import { mcpProblems } from "../engine/files/mcp-settings.ts";
import { existsSync } from "node:fs";
import path from "node:path";
import { channelIdOf, kindOf } from "../channels/kinds.ts";
import {
  problemAt,
  type Problem,
  type SettingsDocument,
} from "../engine/files/load-service-document.ts";
import { sentence } from "../engine/files/load-service-schema.ts";
import { parseModelName } from "../models/card.ts";
import { closest } from "../kernel/closest.ts";
import type { RoomChannel } from "../rooms/directory.ts";
import {
  channelNamed,
  defaultPlaces,
  defaultsInFull,
  fullNamesOf,
  mayMean,
  namesIn,
  type DefaultPlaces,
} from "../rooms/named-place.ts";
import type { TeamConfig } from "./config.ts";
import { kindsOf, placeSettingsOf, roomChannelsOf, webRoomsOf } from "./room-channels.ts";

/** What is checked, and where its keys stand. */
interface CheckedConfig {
  readonly config: TeamConfig;
  readonly document: SettingsDocument;
  /** To which paths are relative. */
  readonly folder: string;
}

/** What one key says about another. */
export function relationProblems(checked: CheckedConfig): Problem[] {
  return [
    ...serviceProblems(checked),
    ...mcpTrouble(checked),
    ...hookProblems(checked),
    ...scheduleProblems(checked),
    ...channelProblems(checked),
    ...nameProblems(checked),
    ...placeProblems(checked),
    ...operatorProblems(checked),
    ...memoryProblems(checked),
    ...priceProblems(checked),
    ...repositoryProblems(checked),
  ];
}

function serviceProblems({ config, document, folder }: CheckedConfig): Problem[] {
  if (Object.keys(config.services).length + Object.keys(config.agents ?? {}).length === 0) {
    return [problemAt(document, ["services"], "is missing", { allowed: "a service, or agents" })];
  }
  const missing = Object.entries(config.services).filter(
    ([, given]) => typeof given === "string" && !existsSync(path.resolve(folder, given)),
  );

  return missing.map(([key]) =>
    problemAt(document, ["services", key], "names a folder that does not exist", {
      allowed: "a folder with service.yaml or service.ts, relative to the configuration",
    }),
  );
}

function mcpTrouble({ config, document }: CheckedConfig): Problem[] {
  return Object.entries(config.mcp ?? {}).flatMap(([name, server]) =>
    mcpProblems(server).map(({ path, wrong, allowed }) =>
      problemAt(document, ["mcp", name, ...path], wrong, { allowed }),
    ),
  );
}

type HookSettings = NonNullable<TeamConfig["hooks"]>[string];

/** A hook does one thing. */
function hookProblems({ config, document }: CheckedConfig): Problem[] {
  const rooms = webRoomsOf(config);
  return Object.entries(config.hooks ?? {}).flatMap(([name, hook]) => {
    const wrong = nameProblem(name) ?? hookProblem(hook, rooms);
    if (wrong === undefined) return [];

    return [problemAt(document, ["hooks", name], wrong.what, { allowed: wrong.allowed })];
  });
}

/** Routes that tools of a plan's step call. */
const OWN_HOOKS: readonly string[] = ["test-feedback", "ask", "request-access"];

function nameProblem(name: string): { what: string; allowed: string } | undefined {
  if (!OWN_HOOKS.includes(name)) return undefined;
  return { what: "has a name of dure's own", allowed: `any but ${OWN_HOOKS.join(", ")}` };
}

/** A schedule does one thing, and says what there is to say: nothing comes with it. */
function scheduleProblems({ config, document }: CheckedConfig): Problem[] {
  const rooms = webRoomsOf(config);
  return Object.entries(config.schedules ?? {}).flatMap(([name, schedule]) => {
    const wrong = hookProblem(schedule, rooms) ?? textProblem(schedule);
    return wrong ? [problemAt(document, ["schedules", name], wrong.what, wrong)] : [];
  });
}

function textProblem({
  plan,
  text,
}: ConfiguredHookDeed): { what: string; allowed: string } | undefined {
  if (plan !== undefined || text !== undefined) return undefined;
  return { what: "has no text", allowed: "text: what is said, or asked" };
}

/** What both hooks and schedules do. */
type ConfiguredHookDeed = Pick<
  HookSettings,
  "room" | "agent" | "target" | "plan" | "text" | "tenant"
>;

/** Pure. */
function hookProblem(
  { room, agent, target, plan, text, tenant }: ConfiguredHookDeed,
  rooms: readonly RoomChannel[],
): { what: string; allowed: string } | undefined {
  const deeds = [room, agent ?? target, plan].filter((deed) => deed !== undefined);

  if (deeds.length !== 1) {
    return { what: "does not do one thing", allowed: "one of: room; agent and target; plan" };
  }
  if ((agent === undefined) !== (target === undefined)) {
    const allowed = "agent (in whose name) and target (who is asked)";
    return { what: "lacks one of agent and target", allowed };
  }
  if (plan !== undefined && text !== undefined) {
    return { what: "has a text, which a plan is not told", allowed: "text with a room or a job" };
  }
  const named = room === undefined ? undefined : channelNamed(room, rooms, tenant);
  if (named === undefined || named.ok) return undefined;
  return { what: `names the unknown room "${room}"`, allowed: named.allowed.join(", ") };
}

/** A room must be known to each platform that it names. */
function channelProblems({ config, document }: CheckedConfig): Problem[] {
  const kinds = kindsOf(config);
  return Object.entries(config.rooms?.channels ?? {}).flatMap(([key, room]) =>
    (room.adapters ?? []).flatMap((name) => {
      const path = ["rooms", "channels", key];
      const kind = kinds.find((one) => one.name === name) ?? kindOf(name);

      if (!kind) {
        const allowed = kinds.map((one) => one.name).join(", ");
        return problemAt(
          document,
          [...path, "adapters"],
          `names ${name}, no adapter of this team`,
          {
            allowed,
          },
        );
      }

      if (channelIdOf(kind, key, room) !== undefined) return [];

      const allowed = kind.channelIds?.hint;

      return problemAt(document, path, `is on ${name} but has no channel id`, { allowed });
    }),
  );
}

/** A key whose value is the name of something else of the team. */
interface NamedSetting {
  readonly key: readonly string[];
  readonly name: string | undefined;
  readonly what: "service" | "agent";
  readonly known: readonly string[];
}

/** Services and agents that are named must be there. */
function nameProblems({ config, document }: CheckedConfig): Problem[] {
  const named = namedSettings(config);
  return named.flatMap(({ key, name, what, known }) => {
    if (name === undefined || known.includes(name)) return [];
    const meant = closest(name, known);

    return problemAt(document, [...key], `names no ${what} of this team`, {
      allowed: known.join(", ") || "none yet",
      hint: meant && `did you mean ${meant}?`,
    });
  });
}

function namedSettings(config: TeamConfig): readonly NamedSetting[] {
  const services = Object.keys(config.services);
  const agents = Object.keys(config.agents ?? {});
  const service = { what: "service", known: services } as const;
  const agent = { what: "agent", known: agents } as const;
  const { rooms, escalations } = config;

  return [
    ...Object.entries(config.agents ?? {}).map(([id, { service: name }]) => ({
      ...service,
      key: ["agents", id, "service"],
      name,
    })),
    ...Object.entries(rooms?.channels ?? {}).map(([id, { defaultAgent: name }]) => ({
      ...agent,
      key: ["rooms", "channels", id, "defaultAgent"],
      name,
    })),
    ...Object.entries(config.schedules ?? {}).flatMap(([id, schedule]) =>
      (["agent", "target"] as const).map((role) => ({
        ...agent,
        key: ["schedules", id, role],
        name: schedule[role],
      })),
    ),
    { ...agent, key: ["escalations", "operator"], name: escalations?.operator },
  ];
}

/** Channels that are named must be there; of those in full one on each platform. */
function placeProblems({ config, document }: CheckedConfig): Problem[] {
  const channels = roomChannelsOf(config);
  const hasAgents = Object.keys(config.agents ?? {}).length > 0;
  return placeSettingsOf(config).flatMap(({ path, places, forCollaborations }) => {
    // Without agents there are no rooms, and no one who tells people of escalations.
    const known = hasAgents || path[0] !== "escalations" ? channels : [];
    const wrong = placesProblem(places, known, forCollaborations);
    return wrong ? [problemAt(document, path, wrong.what, wrong)] : [];
  });
}

/** Pure. */
function placesProblem(
  places: DefaultPlaces,
  channels: readonly RoomChannel[],
  forCollaborations: boolean,
): { what: string; allowed: string; hint?: string | undefined } | undefined {
  const unknown = namesIn(places).find((name) => !channels.some((one) => mayMean(name, one)));
  const allowed = fullNamesOf(channels).join(", ") || "none yet";
  if (unknown !== undefined) {
    const keys = channels.map(({ key }) => key);
    const meant = closest(unknown, [...fullNamesOf(channels), ...keys]);
    const hint = meant && `did you mean ${meant}?`;
    return { what: "names no channel of this team", allowed, hint };
  }
  const adapters = defaultsInFull(places, channels).map(({ adapter }) => adapter);
  const twice = adapters.find((adapter, at) => adapters.indexOf(adapter) < at);
  if (twice !== undefined) {
    return { what: `names more than one channel on ${twice}`, allowed: "one for each platform" };
  }
  const isShut = defaultPlaces(places, channels).some(({ collaborate }) => !collaborate);
  if (!isShut || !forCollaborations) return undefined;
  const open = fullNamesOf(channels.filter(({ collaborate }) => collaborate)).join(", ");
  return { what: "names a channel that takes no collaborations", allowed: open || "none yet" };
}

function operatorProblems({ config, document }: CheckedConfig): Problem[] {
  const operator = config.escalations?.operator;
  if (operator === undefined || config.agents?.[operator]?.service === undefined) return [];

  return [
    problemAt(
      document,
      ["escalations", "operator"],
      "names an agent that answers through a service of its own, which has no tool to decide with",
      { allowed: "an agent without service" },
    ),
  ];
}

function memoryProblems({ config, document }: CheckedConfig): Problem[] {
  const { keepRecentTurns: kept, summarizeThreshold: from } = config.memory ?? {};
  if (kept === undefined || from === undefined || kept < from) return [];

  return [
    problemAt(document, ["memory", "keepRecentTurns"], "leaves nothing to fold", {
      allowed: `less than summarizeThreshold (${from})`,
    }),
  ];
}

/** No tenant's repository holds the team's own folder. What links lead to is found at a run. */
function repositoryProblems({ config, document, folder }: CheckedConfig): Problem[] {
  return Object.entries(config.repositories ?? {}).flatMap(([name, { path: given, tenants }]) => {
    const inside = path.relative(path.resolve(folder, given), folder);
    const holdsTeam = !path.isAbsolute(inside) && inside.split(path.sep)[0] !== "..";
    if (tenants === undefined || !holdsTeam) return [];

    return problemAt(
      document,
      ["repositories", name],
      "is a tenant's and holds the team's own folder",
      { allowed: "a repository beside it, or none with tenants" },
    );
  });
}

function priceProblems({ config, document }: CheckedConfig): Problem[] {
  return Object.keys(config.prices ?? {}).flatMap((model) => {
    try {
      parseModelName(model);
      return [];
    } catch (error) {
      return {
        file: document.file,
        ...document.locate(["prices", model]),
        key: `prices.${model}`,
        message: sentence(error),
      };
    }
  });
}
