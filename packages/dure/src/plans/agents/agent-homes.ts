import path from "node:path";
import { isWithin } from "../sandbox/mount-plan.ts";

/**
 * Where coding agents keep logins, settings and sessions, below the home folder. Settings there name
 * programs that run at the person's next call, outside of every sandbox.
 */
export const AGENT_HOMES = [
  ".claude",
  ".claude.json",
  ".codex",
  ".config/opencode",
  ".local/share/opencode",
  ".local/state/opencode",
  ".opencode",
  ".gemini",
  ".qwen",
  ".copilot",
  ".config/github-copilot",
  ".cursor",
  ".config/goose",
  ".local/share/goose",
  ".continue",
  ".aider.conf.yml",
] as const;

/** What else below the home folder the person's own programs obey. */
const RUN_FOR_THE_PERSON = [
  ".bashrc",
  ".bash_profile",
  ".bash_login",
  ".bash_logout",
  ".profile",
  ".zshrc",
  ".zshenv",
  ".zprofile",
  ".zlogin",
  ".config/fish",
  ".gitconfig",
  ".config/git",
  ".npmrc",
  ".ssh",
  ".gnupg",
  ".config/systemd",
  ".config/autostart",
  ".local/bin",
  "bin",
  ".vscode",
  ".vimrc",
  ".config/nvim",
] as const;

/** Why a worker may not write a place of the home folder; undefined: it may. */
export type HomeRefusal = { readonly meets: string; readonly isAgents: boolean };

/**
 * Whether a place that a plan wants to be writable would let a worker change what runs for the
 * person. Pure.
 *
 * @param place below the home folder; "" is the home folder itself.
 */
export function refuseHomePlace(place: string): HomeRefusal | undefined {
  const meets = (known: string): boolean =>
    place === "" || isWithin(place, known) || isWithin(known, place);
  const ofAgent = AGENT_HOMES.find(meets);
  if (ofAgent !== undefined) return { meets: ofAgent, isAgents: true };
  const other = RUN_FOR_THE_PERSON.find(meets);
  return other === undefined ? undefined : { meets: other, isAgents: false };
}

/** Below the home folder, as a plan or a real path names it; undefined: it lies elsewhere. Pure. */
export function belowHome(place: string, home: string | undefined): string | undefined {
  if (place === "~") return "";
  if (place.startsWith("~/")) return place.slice(2);
  if (home === undefined) return undefined;
  // A folder that holds the home folder holds all of it.
  if (isWithin(home, place)) return "";
  return isWithin(place, home) ? path.relative(home, place) : undefined;
}

/** Whether a path below the home folder is one of an agent's. Pure. */
export function isAgentsOwn(place: string): boolean {
  return AGENT_HOMES.some((known) => isWithin(place, known));
}

/** What to do instead. Pure. */
export function homeHint({ isAgents }: HomeRefusal): string {
  return isAgents
    ? "Use agent: claude (codex, opencode, gemini, qwen), or copy_home: a copy of logins and settings."
    : "Name a deeper folder that holds no settings, or copy what the worker needs with copy_home.";
}
