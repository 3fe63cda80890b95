import { silentLogger } from "../../kernel/logger.ts";
import type { LoadedTeam } from "../../team/config.ts";
import { incomingHooks } from "../../team/hooks.ts";
import type { HookDeed } from "../../webhooks/hook-deed.ts";
import type { Finding } from "./finding.ts";

/** Each hook with what it does, and whether its secret is there. */
export function checkHooks({ config }: LoadedTeam): readonly Finding[] {
  return [...incomingHooks(config, silentLogger)].map(([name, { secret, deed }]): Finding => {
    const about = { name: `hook ${name}`, detail: `POST /v1/hooks/${name}: ${deedWords(deed)}` };
    if (secret !== undefined) return { ...about, status: "ok" };

    const written = config.hooks?.[name]?.secret ?? "";
    return {
      ...about,
      status: "warn",
      detail: `${about.detail}. It takes nothing: ${lackOf(written)}`,
      hint: "Set it to 16 characters or more, in the environment or in .env, and start again.",
    };
  });
}

/** The variable by its name; a secret that stands in the configuration is not told. Pure. */
function lackOf(secret: string): string {
  const variable = /\$\{[^}]*\}/.exec(secret)?.[0];
  return variable === undefined
    ? "its secret is too short"
    : `${variable} is not set, or too short`;
}

/** Pure. */
function deedWords(deed: HookDeed): string {
  if (deed.kind === "plan") return `a run of the plan ${deed.plan}`;
  if (deed.kind === "job") return `a job, ${deed.agent} asks ${deed.target}`;
  return `a message in the room ${deed.room}`;
}
