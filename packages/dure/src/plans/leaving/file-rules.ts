/**
 * Files that a machine runs or obeys without anyone calling them: at a push, at an install, when an
 * agent or an editor opens the folder. What runs only when its name is called (a Makefile, a
 * Dockerfile, a script) is read like other code of the change. Folders are named too, for a link may
 * stand for one.
 */
const FILE_RULES: readonly { readonly rule: string; readonly names: readonly string[] }[] = [
  {
    rule: "ci",
    names: [
      "\\.(?:github|gitea|forgejo)(?:/(?:workflows|actions)(?:/.*)?)?",
      "\\.gitlab-ci\\.ya?ml|\\.gitlab(?:/ci(?:/.*)?)?",
      "Jenkinsfile[^/]*|\\.(?:circleci|buildkite|woodpecker|semaphore|teamcity)(?:/.*)?",
      "\\.(?:travis|drone|woodpecker|cirrus)\\.ya?ml|\\.?appveyor\\.ya?ml",
      "(?:azure|bitbucket)-pipelines[^/]*\\.ya?ml|cloudbuild\\.ya?ml|buildspec\\.ya?ml",
    ],
  },
  {
    rule: "git-hook",
    names: [
      "\\.(?:husky|githooks|git-hooks|hooks)(?:/.*)?",
      "\\.?lefthook(?:-local)?\\.(?:ya?ml|toml|json)|\\.pre-commit-(?:config|hooks)\\.ya?ml",
      "\\.overcommit\\.yml|\\.(?:lintstagedrc|simple-git-hooks)[^/]*|lint-staged\\.config\\.[cm]?[jt]s",
      "\\.gitmodules|\\.gitconfig",
    ],
  },
  {
    rule: "install-script",
    names: [
      "\\.npmrc|\\.yarnrc(?:\\.ya?ml)?|\\.yarn(?:/(?:plugins|releases)(?:/.*)?)?|\\.?pnpmfile\\.[cm]?js",
      "bunfig\\.toml|binding\\.gyp|setup\\.(?:py|cfg)|build\\.rs|extconf\\.rb|sitecustomize\\.py",
      "[^/]+\\.pth|\\.?pip\\.conf|\\.cargo(?:/.*)?|\\.bundle(?:/.*)?",
      "\\.mvn(?:/.*)?|gradle/wrapper(?:/.*)?|\\.dure(?:/.*)?",
    ],
  },
  {
    rule: "agent-instructions",
    names: [
      "(?:CLAUDE|AGENTS?|GEMINI|QWEN|SOUL)(?:\\.local|\\.override)?\\.md",
      "\\.(?:claude|codex|cursor|gemini|qwen|opencode|windsurf|kiro|junie|roo|amazonq)(?:/.*)?",
      "\\.(?:cursorrules|windsurfrules|clinerules|roomodes|goosehints)(?:/.*)?",
      "\\.?mcp\\.json|opencode\\.jsonc?|\\.aider[^/]*|dure\\.config\\.[a-z]+",
      "\\.github/(?:copilot-instructions\\.md|(?:instructions|prompts|agents|chatmodes)(?:/.*)?)",
    ],
  },
  {
    rule: "editor-settings",
    names: [
      "\\.(?:vscode|idea|vs|fleet|zed|devcontainer)(?:/.*)?|\\.devcontainer\\.json",
      "[^/]+\\.code-workspace|\\.(?:ex|vim|nvim)rc|\\.nvim\\.lua|\\.dir-locals\\.el",
    ],
  },
  {
    rule: "shell-settings",
    names: [
      "\\.envrc|\\.?mise(?:\\.local)?\\.toml|\\.mise(?:/.*)?|\\.autoenv[^/]*",
      "\\.(?:bash|zsh)(?:rc|env)|\\.(?:bash_|zsh_|z)?profile",
    ],
  },
  {
    rule: "secret-file",
    names: [
      "id_(?:rsa|dsa|ecdsa|ed25519)(?:_sk)?|[^/]+\\.(?:p12|pfx|jks|keystore|kdbx|ppk|ovpn)",
      "\\.?netrc|_netrc|\\.pgpass|\\.my\\.cnf|\\.git-credentials|\\.htpasswd|\\.dockercfg",
      "\\.(?:aws|ssh|gnupg|kube|docker)(?:/.*)?|kubeconfig|terraform\\.tfstate[^/]*",
    ],
  },
];

export const FILE_RULE_NAMES: readonly string[] = FILE_RULES.map(({ rule }) => rule);

/** At any depth, and without case: a file system may not know it. */
const compiled = FILE_RULES.map(({ rule, names }) => ({
  rule,
  pattern: new RegExp(`(?:^|/)(?:${names.join("|")})$`, "i"),
}));

/** The rules that a path falls under. Pure. */
export function rulesOfPath(path: string): readonly string[] {
  return compiled.filter(({ pattern }) => pattern.test(path)).map(({ rule }) => rule);
}

/** Keys of package.json and composer.json whose commands run at an install or a commit. */
const RUN_AT_INSTALL = [
  "preinstall",
  "install",
  "postinstall",
  "preprepare",
  "prepare",
  "postprepare",
  "prepublish",
  "prepublishOnly",
  "prepack",
  "postpack",
  "dependencies",
  "pre-install-cmd",
  "post-install-cmd",
  "pre-update-cmd",
  "post-update-cmd",
  "post-autoload-dump",
  "post-root-package-install",
];
const HOOK_SETTINGS = ["husky", "simple-git-hooks", "gitHooks", "lint-staged", "pnpm"];

export const isPackageFile = (path: string): boolean =>
  /(?:^|\/)(?:package|composer)\.json$/i.test(path);

export const isAttributesFile = (path: string): boolean => /(?:^|\/)\.gitattributes$/i.test(path);

/** Merge drivers of git's own, behind which no command can stand. */
const OWN_DRIVERS: ReadonlySet<string> = new Set(["merge=text", "merge=binary", "merge=union"]);

/** Filters and drivers that attributes name, and did not name before: commands of settings. Pure. */
export function newDrivers(text: string, before: string): readonly string[] {
  const known = driversIn(before);
  return [...driversIn(text)].filter((driver) => !known.has(driver) && !OWN_DRIVERS.has(driver));
}

const driversIn = (text: string): ReadonlySet<string> =>
  new Set(text.match(/(?<=\s)(?:filter|diff|merge)=\S+/g));

/** Keys that run something at an install, and say something else than before. Pure. */
export function newInstallScripts(text: string, before: string | undefined): readonly string[] {
  const now = whatRuns(text);
  const then = before === undefined ? {} : (whatRuns(before) ?? {});
  if (now === undefined) return ["package.json"];

  return Object.keys(now).filter((key) => now[key] !== then[key]);
}

/** Undefined: the text is no JSON object, and what another reader makes of it is not known. */
function whatRuns(text: string): Readonly<Record<string, string>> | undefined {
  const value = parsed(text);
  if (value === undefined) return undefined;
  const scripts = membersOf(value["scripts"]);
  const picked = [
    ...RUN_AT_INSTALL.map((key) => [key, scripts[key]] as const),
    ...HOOK_SETTINGS.map((key) => [key, value[key]] as const),
  ];
  const present = picked.filter(([, command]) => command !== undefined);

  return Object.fromEntries(present.map(([key, command]) => [key, JSON.stringify(command)]));
}

function parsed(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text.replace(/^\uFEFF/, ""));
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? membersOf(value)
      : undefined;
  } catch {
    return undefined;
  }
}

function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? { ...value } : {};
}
