/** A published form of secrets. */
export interface SecretRule {
  readonly rule: string;
  /**
   * Found in text. The group `shown` is what everyone may read of it; nothing else of a find is ever
   * shown. Begins with a fixed word and repeats with a bound: its time grows with the text alone.
   */
  readonly pattern: RegExp;
  /** Where the form is described. */
  readonly source: string;
  /** Looks at what the form alone does not say. Default: all are secrets. */
  readonly accepts?: (value: string) => boolean;
}

/** Where a token begins: not in the middle of a longer word. */
const FROM = "(?<![A-Za-z0-9_])";

const token = (shown: string, rest: string): RegExp =>
  new RegExp(`${FROM}(?<shown>${shown})${rest}`, "g");

/**
 * Secrets by the forms that their makers publish. Reason for a table of our own:
 * docs/decisions/0003-dependencies.md.
 */
export const SECRET_RULES: readonly SecretRule[] = [
  {
    rule: "private-key",
    pattern:
      /(?<shown>-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----)[^-]{0,300}?[A-Za-z0-9+/]{40}/g,
    source: "https://www.rfc-editor.org/rfc/rfc7468#section-10",
  },
  {
    rule: "github-token",
    pattern: token("gh[pousr]_|github_pat_", "\\w{22,255}"),
    source:
      "https://docs.github.com/en/authentication/keeping-your-account-and-data-secure/about-authentication-to-github#githubs-token-formats",
  },
  {
    rule: "gitlab-token",
    pattern: token("gl(?:agent|cbt|dt|feed|ft|imt|oas|pat|ptt|rt|soat)-", "[\\w-]{20,255}"),
    source: "https://docs.gitlab.com/security/tokens/#token-prefixes",
  },
  {
    rule: "slack-token",
    pattern: token("xox[abceoprs]-|xoxe\\.xox[bp]-|xapp-", "\\d[\\w-]{10,255}"),
    source: "https://docs.slack.dev/authentication/tokens",
  },
  {
    rule: "slack-webhook",
    pattern: /(?<shown>hooks\.slack\.com\/(?:services|workflows|triggers)\/)[A-Za-z0-9/]{30,100}/g,
    source: "https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks",
  },
  {
    rule: "discord-token",
    pattern: token("", "[MNO][\\w-]{23,27}\\.[\\w-]{6}\\.[\\w-]{27,40}(?![\\w-])"),
    source: "https://docs.discord.com/developers/reference#authentication",
  },
  {
    rule: "telegram-token",
    pattern: token("", "\\d{8,10}:AA[\\w-]{33}(?![\\w-])"),
    source: "https://core.telegram.org/bots/api#authorizing-your-bot",
  },
  {
    rule: "anthropic-key",
    pattern: token("sk-ant-", "[\\w-]{20,255}"),
    source: "https://platform.claude.com/docs/en/api/overview",
  },
  {
    rule: "openai-key",
    pattern: token("sk-(?:proj|svcacct|admin)-", "[\\w-]{20,255}"),
    source: "https://platform.openai.com/docs/api-reference/authentication",
  },
  {
    rule: "openai-key",
    pattern: token("sk-", "[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}"),
    source: "https://platform.openai.com/docs/api-reference/authentication",
  },
  {
    rule: "model-key",
    pattern: token("sk-or-v1-|gsk_|xai-|pplx-|r8_|hf_", "[A-Za-z0-9]{32,255}(?![\\w-])"),
    source: "https://huggingface.co/docs/hub/security-tokens",
  },
  {
    rule: "aws-key-id",
    pattern: token("AKIA|ASIA", "[A-Z2-7]{16}(?![A-Z0-9])"),
    source:
      "https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html#identifiers-unique-ids",
  },
  {
    rule: "aws-secret",
    pattern:
      /(?<shown>secret_?access_?key["']?\s{0,3}[:=]\s{0,3}["']?)[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])/gi,
    source: "https://docs.aws.amazon.com/cli/latest/userguide/cli-configure-files.html",
  },
  {
    rule: "google-key",
    pattern: token("AIza|GOCSPX-|ya29\\.", "[\\w-]{28,255}"),
    source: "https://docs.cloud.google.com/docs/authentication/api-keys",
  },
  {
    rule: "azure-key",
    pattern: /(?<shown>AccountKey=)[A-Za-z0-9+/]{86}==/g,
    source:
      "https://learn.microsoft.com/en-us/azure/storage/common/storage-configure-connection-string",
  },
  {
    rule: "aws-secret",
    pattern: token("AKIA|ASIA", "[A-Z2-7]{16}[\"',:;\\s]{1,10}[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])"),
    source: "https://docs.aws.amazon.com/IAM/latest/UserGuide/id_credentials_access-keys.html",
  },
  {
    rule: "docker-login",
    pattern: /(?<shown>"auth"\s{0,3}:\s{0,3}")[A-Za-z0-9+/]{12,2000}={0,2}(?=")/g,
    source: "https://docs.docker.com/reference/cli/docker/login/#credential-stores",
    accepts: isLogin,
  },
  {
    rule: "web-token",
    pattern: /(?<![\w-])(?<shown>eyJ)[\w-]{10,600}\.eyJ[\w-]{10,4000}\.[\w-]{20,1000}/g,
    source: "https://www.rfc-editor.org/rfc/rfc7519#section-3",
  },
  {
    rule: "npm-token",
    pattern: token("npm_", "[A-Za-z0-9]{36}(?![A-Za-z0-9])"),
    source: "https://docs.npmjs.com/about-access-tokens",
  },
  {
    rule: "npm-login",
    pattern: /(?<shown>:_(?:authToken|auth|password)\s{0,3}=\s{0,3})["']?[^\s"'$]{8,500}/g,
    source: "https://docs.npmjs.com/cli/v11/configuring-npm/npmrc#auth-related-configuration",
  },
  {
    rule: "pypi-token",
    pattern: token("pypi-", "AgE[\\w-]{50,500}"),
    source: "https://docs.pypi.org/project-management/secret-reporting/",
  },
  {
    rule: "registry-token",
    pattern: token("rubygems_|dckr_[op]at_|cio(?=[A-Za-z0-9]{32}\\b)", "[\\w-]{27,100}(?![\\w-])"),
    source: "https://docs.docker.com/security/access-tokens/",
  },
  {
    rule: "stripe-key",
    pattern: token("[sr]k_live_", "[A-Za-z0-9]{16,255}"),
    source: "https://docs.stripe.com/keys",
  },
  {
    rule: "stripe-key",
    pattern: token("whsec_", "[A-Za-z0-9]{32,255}"),
    source: "https://docs.stripe.com/webhooks",
  },
  {
    rule: "sendgrid-key",
    pattern: token("SG\\.", "[\\w-]{22}\\.[\\w-]{43}"),
    source: "https://www.twilio.com/docs/sendgrid/ui/account-and-settings/api-keys",
  },
  {
    rule: "cloud-token",
    pattern: token(
      "do[opr]_v1_|shp(?:at|ca|pa|ss)_|hv[sbr]\\.|dp\\.(?:pt|st|ct|sa)\\.|lin_api_|ntn_|figd_|PMAK-|sbp_|dapi|glsa_|FlyV1 ",
      "[\\w.-]{32,500}",
    ),
    source: "https://docs.digitalocean.com/reference/api/create-personal-access-token/",
  },
  {
    rule: "dure-token",
    pattern: token("dure_", "[A-Za-z0-9_-]{43}(?![A-Za-z0-9_-])"),
    source: "packages/dure/src/server/token-store.ts",
  },
  {
    rule: "address-password",
    pattern:
      /(?<shown>\b[a-z][a-z0-9+.-]{1,20}:\/\/[^\s:/@"'`<>{}$]{0,60}:)[^\s:/@"'`<>{}$]{3,100}@(?!127\.|\[::1\]|(?:localhost|host|hostname|db)(?![\w.-])|[^\s/:]{0,60}example(?![a-z]))/g,
    source: "https://www.rfc-editor.org/rfc/rfc3986#section-3.2.1",
  },
];

/**
 * Secrets by what stands before them. Where a form above names one, these say nothing. The value
 * must look like one that a machine made.
 */
export const GENERAL_RULES: readonly SecretRule[] = [
  {
    rule: "authorization",
    pattern:
      /(?<shown>authorization["']?\]?\s{0,3}[:=,]\s{0,3}["'`]?(?:bearer|basic|token)[ \t]{1,3})[A-Za-z0-9+/=_.~-]{16,4000}/gi,
    source: "https://www.rfc-editor.org/rfc/rfc6750#section-2.1",
    accepts: (value) => isMachineMade(value) || isLogin(value),
  },
  {
    // Its value is read once and never given back: what follows it can be no part of it.
    rule: "secret-value",
    pattern:
      /(?<shown>(?:secret|passw(?:or)?d|passphrase|(?:api|access|auth|private|encryption|signing)[_-]?key|token|credential)\w{0,20}["']?\]?\s{0,3}(?::=|=>|[:=])\s{0,3}["'`]?)(?=(?<value>[A-Za-z0-9+/=_.~-]{20,200}))\k<value>(?=["'`]|[,;]?[ \t\r]{0,4}(?:\n|$))/gi,
    source:
      "https://github.com/gitleaks/gitleaks/blob/v8.28.0/config/gitleaks.toml (generic-api-key, MIT)",
    accepts: isMachineMade,
  },
];

/** Base64 of a name and a password. */
function isLogin(value: string): boolean {
  const text = Buffer.from(value, "base64").toString("latin1");
  return /^[\x21-\x7e]{1,200}:[\x20-\x7e]{3,1500}$/.test(text);
}

/** Bits of a character, on average, of what a machine made. Random hex of 32 has 3.6. */
const FEWEST_BITS = 3.4;
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
/** Words of names, as camel case joins them, and numbers. */
const WORD = /[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+/g;
/**
 * Characters of a word, on average, from which on words make a name. In random text of 62
 * characters it is 1.5, in random text of 36 it is 2.5.
 */
const FEWEST_OF_WORD = 3.5;

/** Whether a value is random, and no name or path. Pure. */
function isMachineMade(value: string): boolean {
  if (UUID.test(value) || !/\d/.test(value) || !/[A-Za-z]/.test(value)) return false;
  const words = value.match(WORD) ?? [];
  const isName = words.join("").length >= words.length * FEWEST_OF_WORD;

  return !isName && bitsOf(value) >= FEWEST_BITS;
}

/** Entropy of its characters by Shannon. Pure. */
function bitsOf(value: string): number {
  const counts = new Map<string, number>();
  for (const one of value) counts.set(one, (counts.get(one) ?? 0) + 1);
  const shares = [...counts.values()].map((count) => count / value.length);

  return -shares.reduce((sum, share) => sum + share * Math.log2(share), 0);
}

/** Files of settings that a program reads as its environment; examples of them are none. */
const ENV_FILE = /(?:^|\/)\.env(?:\.(?!example$|sample$|template$|dist$|defaults?$)[^/]+)?$/i;

/** The value of a variable that dure gave a worker of the run, whatever its form. */
export const GIVEN_SECRET = "given-secret";

/** A line of such a file that names a secret, with a value. */
export const ENV_SECRET: SecretRule = {
  rule: "env-secret",
  pattern:
    /^(?<shown>[ \t]{0,8}(?:export[ \t]{1,4})?[A-Za-z0-9_]{0,60}?(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?|PRIVATE|_PAT|_DSN)[A-Za-z0-9_]{0,20}[ \t]{0,4}=[ \t]{0,4})["']?[^\s"'#$<]{6,500}/gim,
  source: "https://github.com/motdotla/dotenv#readme",
};

export const isEnvFile = (path: string): boolean => ENV_FILE.test(path);

/** Words of values that stand for a secret and are none. */
const STAND_IN =
  /example|placeholder|change[_-]?me|your[_-]|dummy|redacted|insert|x{5}|\*{3}|\.{3}|0{8}|1234567|eyJzdWIiOiIxMjM0NTY3ODkw/i;
/** A secret has more different characters. */
const FEWEST_CHARACTERS = 5;

/** Whether a value only stands for a secret. Pure. */
export function isStandIn(value: string): boolean {
  return STAND_IN.test(value) || new Set(value).size < FEWEST_CHARACTERS;
}
