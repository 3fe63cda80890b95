import { realpathSync } from "node:fs";
import path from "node:path";

/** What lies in a home folder and opens doors: keys, tokens, password stores. Relative to the home folder. */
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

/** The real paths of the secrets that exist, without those allowed. A link is followed: what it leads to is the secret. */
export function secretsOf(home: string | undefined, allowed: readonly string[]): readonly string[] {
  if (home === undefined) return [];
  return HOME_SECRETS.filter((name) => !allowed.includes(name)).flatMap((name) => {
    try {
      return [realpathSync(path.join(home, name))];
    } catch {
      return [];
    }
  });
}
