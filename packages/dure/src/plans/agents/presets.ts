import type { WorkerSpec } from "../plan.ts";
import type { AgentPrints } from "./printed/printed.ts";

/** Coding agents whose ways are known. */
export const AGENTS = ["claude", "codex", "opencode", "gemini", "qwen"] as const;
export type AgentName = (typeof AGENTS)[number];

/** How an agent is spoken to: by the Agent Client Protocol, or as a program that gets its prompt. */
export const AGENT_WAYS = ["acp", "exec"] as const;
export type AgentWay = (typeof AGENT_WAYS)[number];

/** What an agent needs to work for dure. Tried with the real agents: `npm run test:agents`. */
export interface AgentPreset {
  /** Name of the maker's product, for people. */
  readonly title: string;
  /** Packages of the npm registry that have its programs. */
  readonly packages: readonly string[];
  readonly acp: {
    readonly command: readonly string[];
    /** Of the session, set over the protocol: it asks dure before it writes. */
    readonly mode?: string | undefined;
    /** `false`: it works with its own hands alone, because it errs with files of a client. */
    readonly clientFiles?: false | undefined;
    /** At the end of a turn it tells the tokens of its last call, not of all. */
    readonly usageOfLastCall?: true | undefined;
  };
  readonly exec: {
    readonly command: readonly string[];
    /** The form in which this command prints its turn. */
    readonly prints: AgentPrints;
  };
  /** Variables that it gets where dure has them. */
  readonly env: readonly string[];
  /** Variables that it always gets. */
  readonly set: Readonly<Record<string, string>>;
  /** Logins and settings below the home folder. Copied into a home of its own. */
  readonly copyHome: readonly string[];
  /** Of these the ones that open its account. */
  readonly logins: readonly string[];
  /** What a person does who is not signed in. */
  readonly signIn: string;
}

/**
 * Switches for codex: its own sandbox cannot be made inside of dure's, which holds it already; a
 * login shell would reset PATH; `notify` would run a program of the person's.
 */
const CODEX_SETTINGS = [
  // Commands of its tools do not see the key.
  'shell_environment_policy.exclude=["OPENAI_API_KEY","CODEX_API_KEY"]',
  'sandbox_mode="danger-full-access"',
  'approval_policy="never"',
  "allow_login_shell=false",
  "notify=[]",
].flatMap((setting) => ["-c", setting]);

export const PRESETS: Readonly<Record<AgentName, AgentPreset>> = {
  claude: {
    title: "Claude Code",
    packages: ["@agentclientprotocol/claude-agent-acp", "@anthropic-ai/claude-code"],
    // By itself it starts in `auto`, in which it asks nothing.
    acp: { command: ["claude-agent-acp"], mode: "default" },
    exec: {
      command: [
        ...["claude", "-p", "--permission-mode", "bypassPermissions"],
        ...["--output-format", "stream-json", "--verbose"],
      ],
      prints: "claude",
    },
    env: [
      "ANTHROPIC_API_KEY",
      "ANTHROPIC_AUTH_TOKEN",
      "ANTHROPIC_BASE_URL",
      "ANTHROPIC_MODEL",
      "CLAUDE_CODE_OAUTH_TOKEN",
    ],
    set: {
      // Else it refuses to work without questions as root.
      IS_SANDBOX: "1",
      DISABLE_AUTOUPDATER: "1",
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    },
    copyHome: [".claude/.credentials.json", ".claude/settings.json", ".claude/CLAUDE.md"],
    logins: [".claude/.credentials.json"],
    signIn: "Run claude and sign in, or set ANTHROPIC_API_KEY or CLAUDE_CODE_OAUTH_TOKEN.",
  },
  codex: {
    title: "Codex",
    packages: ["@zed-industries/codex-acp", "@openai/codex"],
    acp: { command: ["codex-acp", ...CODEX_SETTINGS] },
    exec: {
      command: ["codex", "exec", "--json", "--skip-git-repo-check", ...CODEX_SETTINGS, "-"],
      prints: "codex",
    },
    env: ["OPENAI_API_KEY", "CODEX_API_KEY", "OPENAI_BASE_URL"],
    set: {},
    copyHome: [".codex/auth.json", ".codex/config.toml", ".codex/AGENTS.md"],
    logins: [".codex/auth.json"],
    signIn: "Run codex login, or set OPENAI_API_KEY.",
  },
  opencode: {
    title: "opencode",
    packages: ["opencode-ai"],
    acp: { command: ["opencode", "acp"], usageOfLastCall: true },
    exec: { command: ["opencode", "run", "--format", "json"], prints: "opencode" },
    env: [
      "ANTHROPIC_API_KEY",
      "OPENAI_API_KEY",
      "OPENROUTER_API_KEY",
      "OPENCODE_API_KEY",
      "OPENCODE_CONFIG_CONTENT",
      "OPENCODE_PERMISSION",
    ],
    set: { OPENCODE_DISABLE_AUTOUPDATE: "1" },
    copyHome: [
      ".local/share/opencode/auth.json",
      ".config/opencode/opencode.json",
      ".config/opencode/opencode.jsonc",
      ".config/opencode/AGENTS.md",
    ],
    logins: [".local/share/opencode/auth.json"],
    signIn: "Run opencode auth login, or set the key of its provider.",
  },
  gemini: {
    title: "Gemini CLI",
    packages: ["@google/gemini-cli"],
    // A file that is not there is fatal to it when it asks its client for it.
    acp: { command: ["gemini", "--acp"], mode: "default", clientFiles: false },
    exec: {
      command: ["gemini", "--approval-mode", "yolo", "--output-format", "stream-json"],
      prints: "gemini",
    },
    env: ["GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GEMINI_BASE_URL", "GEMINI_MODEL"],
    set: { GEMINI_SANDBOX: "false", GEMINI_CLI_TRUST_WORKSPACE: "true" },
    copyHome: [
      ".gemini/oauth_creds.json",
      ".gemini/google_accounts.json",
      ".gemini/settings.json",
      ".gemini/GEMINI.md",
    ],
    logins: [".gemini/oauth_creds.json"],
    signIn: "Run gemini and sign in, or set GEMINI_API_KEY.",
  },
  qwen: {
    title: "Qwen Code",
    packages: ["@qwen-code/qwen-code"],
    acp: { command: ["qwen", "--acp"], mode: "default" },
    exec: {
      command: ["qwen", "--approval-mode", "yolo", "--output-format", "stream-json"],
      prints: "claude",
    },
    env: ["DASHSCOPE_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL"],
    set: { QWEN_SANDBOX: "false" },
    copyHome: [".qwen/oauth_creds.json", ".qwen/settings.json", ".qwen/QWEN.md"],
    logins: [".qwen/oauth_creds.json"],
    signIn: "Run qwen and sign in, or set OPENAI_API_KEY.",
  },
};

/** What a plan says of an agent beside its name; each goes before the preset or is added to it. */
export interface AgentOrder {
  readonly agent: AgentName;
  readonly way: AgentWay;
  readonly command?: readonly string[] | undefined;
  readonly mode?: string | undefined;
}

type ProgramSpec = Extract<WorkerSpec, { readonly kind: "acp" | "command" }>;

/** The worker that a preset stands for. Pure. */
export function agentSpec({ agent, way, command, mode }: AgentOrder): ProgramSpec {
  const { acp, exec, env, set, copyHome } = PRESETS[agent];
  const around = { agent, env, set, copyHome };
  if (way === "exec") {
    return { kind: "command", command: command ?? exec.command, prompt: "stdin", ...around };
  }

  return {
    kind: "acp",
    command: command ?? acp.command,
    mode: mode ?? acp.mode,
    clientFiles: acp.clientFiles,
    ...around,
  };
}
