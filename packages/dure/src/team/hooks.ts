import type { Logger } from "../kernel/logger.ts";
import { DureError, messageOf } from "../kernel/errors.ts";
import { filledIn } from "../mcp/server-spec.ts";
import type { RoomChannel } from "../rooms/directory.ts";
import { channelNamed, channelPlaceId } from "../rooms/named-place.ts";
import type { HookDeed } from "../webhooks/hook-deed.ts";
import type { IncomingHook } from "../webhooks/webhook-routes.ts";
import type { TeamConfig } from "./config.ts";
import { childEnvironment } from "./environment.ts";
import { webRoomsOf } from "./room-channels.ts";

type ConfiguredHook = NonNullable<TeamConfig["hooks"]>[string];

/** A shorter one could be guessed. */
const MIN_SECRET = 16;

/** The hooks of the configuration with their secrets; one without a secret takes nothing. */
export function incomingHooks(
  { hooks = {}, rooms }: TeamConfig,
  logger: Logger,
): ReadonlyMap<string, IncomingHook> {
  const channels = webRoomsOf({ rooms });
  const named = Object.entries(hooks).map(([name, settings]): [string, IncomingHook] => {
    const { tenant = "" } = settings;
    const deed = deedOf(settings, channels);
    return [name, { secret: secretOf(name, settings, logger), tenant, deed }];
  });

  return new Map(named);
}

function secretOf(name: string, { secret }: ConfiguredHook, logger: Logger): string | undefined {
  try {
    const value = filledIn({ secret }, childEnvironment({}))["secret"]!;
    if (value.length >= MIN_SECRET) return value;
    throw new DureError("HOOK_SECRET_SHORT", `It has less than ${MIN_SECRET} characters.`, {
      class: "input",
    });
  } catch (error) {
    const why = messageOf(error);
    logger.warn({ hook: name, error: why }, `hook ${name} takes nothing: its secret is not there`);

    return undefined;
  }
}

/** The configuration has checked that it is one of them. Pure. */
export function deedOf(
  settings: Omit<ConfiguredHook, "secret">,
  channels: readonly RoomChannel[],
): HookDeed {
  const { room = "", agent, target, plan, text, tenant } = settings;
  if (plan !== undefined) return { kind: "plan", plan };
  if (agent !== undefined) return { kind: "job", agent, target: target!, text };

  const named = channelNamed(room, channels, tenant);
  return { kind: "message", room: named.ok ? channelPlaceId(named.channel) : room, text };
}
