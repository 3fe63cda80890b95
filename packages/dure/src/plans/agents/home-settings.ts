import { isObject } from "../../kernel/json.ts";
import type { AgentName } from "./presets.ts";

type AgentSettings = Readonly<Record<string, unknown>>;

/** Settings of one agent, and what a member gets of a person's. */
export interface HomeSettings {
  /** Below the home folder. */
  readonly path: string;
  /**
   * What names programs of the person, or opens what dure closes, is left out. Undefined: there is
   * no such file. Pure.
   *
   * @param original undefined where the person has none.
   */
  readonly read: (original: string | undefined) => string | undefined;
}

/** In Claude Code's settings these name programs, or open what dure closes. */
const NOT_OF_CLAUDE = [
  "hooks",
  "permissions",
  "sandbox",
  "statusLine",
  "subagentStatusLine",
  "fileSuggestion",
  "otelHeadersHelper",
  "enabledPlugins",
  "extraKnownMarketplaces",
  "enableAllProjectMcpServers",
  "enabledMcpjsonServers",
];
const CLAUDE_LOGIN = ".claude/.credentials.json";

/** Of the settings of Gemini CLI and of Qwen Code, which began as one, these open the model. */
const MODEL_KEYS = ["model", "modelConfigs", "modelProviders", "selectedAuthType", "env"];
const QWEN_LOGIN = ".qwen/oauth_creds.json";

/** In opencode's settings these name programs, or open what dure closes. */
const NOT_OF_OPENCODE = [
  "command",
  "formatter",
  "lsp",
  "mcp",
  "permission",
  "plugin",
  "server",
  "tools",
  "watcher",
];

/** Tables of Codex that name programs of the person, or folders of theirs. */
const NOT_OF_CODEX = ["mcp_servers", "hooks", "plugins", "marketplaces", "projects"];

/** Settings that are written anew before each try, whatever an earlier one left there. */
export const HOME_SETTINGS: Readonly<Record<AgentName, readonly HomeSettings[]>> = {
  claude: [
    {
      path: ".claude/settings.json",
      read: (original) =>
        textOf({
          ...without(settingsIn(original), NOT_OF_CLAUDE),
          permissions: { defaultMode: "default", deny: closed(CLAUDE_LOGIN) },
        }),
    },
  ],
  codex: [
    {
      path: ".codex/config.toml",
      read: (original) => original && withoutTables(original, NOT_OF_CODEX, ["notify"]),
    },
  ],
  opencode: ["opencode.json", "opencode.jsonc"].map((name) => ({
    path: `.config/opencode/${name}`,
    read: (original) =>
      original === undefined ? undefined : textOf(without(settingsIn(original), NOT_OF_OPENCODE)),
  })),
  // Its redaction of variables would take the step's own token too, whatever it is told to allow.
  gemini: [
    {
      path: ".gemini/settings.json",
      read: (original) => {
        const given = settingsIn(original);
        return textOf({ ...only(given, MODEL_KEYS), security: authOf(given) });
      },
    },
  ],
  qwen: [
    {
      path: ".qwen/settings.json",
      read: (original) => {
        const given = settingsIn(original);
        return textOf({
          ...only(given, MODEL_KEYS),
          security: authOf(given),
          permissions: { deny: closed(QWEN_LOGIN) },
        });
      },
    },
  ],
};

/** A login that the agent's tools do not open. Pure. */
function closed(login: string): readonly string[] {
  return [`Read(~/${login})`, `Edit(~/${login})`];
}

/** How the person signs in. Pure. */
function authOf({ security }: AgentSettings): AgentSettings {
  return isObject(security) ? only(security, ["auth"]) : {};
}

function without(settings: AgentSettings, keys: readonly string[]): AgentSettings {
  return Object.fromEntries(Object.entries(settings).filter(([key]) => !keys.includes(key)));
}

function only(settings: AgentSettings, keys: readonly string[]): AgentSettings {
  return Object.fromEntries(Object.entries(settings).filter(([key]) => keys.includes(key)));
}

function textOf(settings: AgentSettings): string {
  return `${JSON.stringify(settings, null, 2)}\n`;
}

/** A person's settings that cannot be read are none. Pure. */
function settingsIn(text = ""): AgentSettings {
  try {
    const value: unknown = JSON.parse(withoutComments(text));

    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}

/** Texts stay; comments go, and a comma before the end of a list or an object. */
const IN_JSON = /("(?:[^"\\]|\\.)*")|\/\/[^\n]*|\/\*[\s\S]*?\*\//g;
const LAST_COMMA = /("(?:[^"\\]|\\.)*")|,(?=\s*[}\]])/g;

function withoutComments(text: string): string {
  const keepTexts = (_all: string, quoted: string | undefined): string => quoted ?? "";

  return text.replace(IN_JSON, keepTexts).replace(LAST_COMMA, keepTexts);
}

const HEADER = /^\s*\[\[?\s*("[^"]*"|'[^']*'|[^\].\s]+)/;
const KEY = /^\s*("[^"]*"|'[^']*'|[\w-]+)\s*(?:\.[^=]*)?=/;

/** TOML without these tables, and without these keys above all tables. Pure. */
export function withoutTables(
  toml: string,
  tables: readonly string[],
  keys: readonly string[] = [],
): string {
  let isLeftOut = false;
  let isAbove = true;
  const kept = toml.split("\n").filter((line) => {
    const header = nameIn(HEADER, line);
    // A list may go on over lines that look like headers: only keys end it above all tables.
    const isInList = isAbove && isLeftOut && !/^\s*\[[^,"']*\]\s*(?:#.*)?$/.test(line);
    if (header !== undefined && !isInList) {
      isAbove = false;
      isLeftOut = tables.includes(header);
    } else if (isAbove) {
      const key = nameIn(KEY, line);
      if (key !== undefined) isLeftOut = keys.includes(key) || tables.includes(key);
    }

    return !isLeftOut;
  });

  return kept.join("\n");
}

function nameIn(pattern: RegExp, line: string): string | undefined {
  return pattern.exec(line)?.[1]?.replace(/["']/g, "");
}
