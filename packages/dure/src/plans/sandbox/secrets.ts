import { readdirSync, realpathSync } from "node:fs";
import path from "node:path";
import { AGENT_HOMES } from "../agents/agent-homes.ts";
import { isWithin } from "./mount-plan.ts";

/**
 * What lies in a home folder and opens doors: keys, tokens, password stores. Relative to the home
 * folder.
 */
const HOME_SECRETS = [
  ".ssh",
  ".gnupg",
  ".password-store",
  ".local/share/keyrings",
  ".git-credentials",
  ".config/git/credentials",
  ".config/gh",
  ".config/hub",
  ".config/glab-cli",
  ".netrc",
  ".npmrc",
  ".yarnrc.yml",
  ".pypirc",
  ".cargo/credentials",
  ".cargo/credentials.toml",
  ".gem/credentials",
  ".m2/settings.xml",
  ".m2/settings-security.xml",
  ".gradle/gradle.properties",
  ".docker",
  ".config/containers",
  ".kube",
  ".aws",
  ".azure",
  ".config/gcloud",
  // Of coding agents all is covered: their settings hold keys too, and name programs.
  ...AGENT_HOMES,
  // Named once more, for a plan that lends a folder of them.
  ".claude/.credentials.json",
  ".codex/auth.json",
  ".local/share/opencode/auth.json",
  ".config/opencode/auth.json",
  ".gemini/oauth_creds.json",
  ".gemini/google_accounts.json",
  ".qwen/oauth_creds.json",
  ".cursor/mcp.json",
  ".config/goose/secrets.yaml",
  ".env",
  ".config/doctl",
  ".oci",
  ".terraform.d",
  ".terraformrc",
  ".vault-token",
  ".config/op",
  ".config/sops",
  ".pgpass",
  ".my.cnf",
  ".bash_history",
  ".zsh_history",
  ".mozilla",
  ".config/google-chrome",
  ".config/chromium",
  ".thunderbird",
] as const;

/** What belongs to the machine and to no worker, whichever user runs it. */
const SYSTEM_SECRETS = [
  "/etc/shadow",
  "/etc/shadow-",
  "/etc/gshadow",
  "/etc/gshadow-",
  "/etc/master.passwd",
  "/etc/sudoers",
  "/etc/sudoers.d",
  "/etc/krb5.keytab",
  "/etc/security/opasswd",
  "/etc/ssl/private",
  "/etc/wireguard",
  "/etc/NetworkManager/system-connections",
  "/etc/docker/key.json",
  "/etc/kubernetes",
  "/var/spool/cron",
  "/var/lib/docker",
  "/var/lib/kubelet",
  "/var/lib/sudo",
] as const;
const HOST_KEY = /^ssh_host_.*_key$/;

/** Whether a path below the home folder is one of its secrets, or lies in one. Pure. */
export function isHomeSecret(place: string): boolean {
  return HOME_SECRETS.some((known) => isWithin(place, known));
}

/**
 * The real paths of the secrets that exist, without those allowed: of the home folder and of the
 * machine. A link is followed: what it leads to is the secret.
 */
export function secretsOf(home: string | undefined, allowed: readonly string[]): readonly string[] {
  const ofHome =
    home === undefined
      ? []
      : HOME_SECRETS.filter((name) => !allowed.includes(name)).map((name) => path.join(home, name));
  const hostKeys = namesIn("/etc/ssh")
    .filter((name) => HOST_KEY.test(name))
    .map((name) => path.join("/etc/ssh", name));
  return [...ofHome, ...SYSTEM_SECRETS, ...hostKeys].flatMap(realPath);
}

/**
 * Secrets of the home folder that a plan has allowed, and that are there. Relative names, as they
 * were allowed.
 */
export function allowedSecretsOf(
  home: string | undefined,
  allowed: readonly string[],
): readonly string[] {
  return home === undefined ? [] : allowed.flatMap((name) => realPath(path.join(home, name)));
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return []; // it is not there, or not for us
  }
}

function realPath(at: string): readonly string[] {
  try {
    return [realpathSync(at)];
  } catch {
    return [];
  }
}
