/** What fetches packages: where each tool gets them, and what its settings say. */

/** What this machine says to a tool: where it fetches, and whom it trusts there. */
export interface MachineSetting {
  /** The variable that the tool reads. */
  readonly variable: string;
  /** Without a name and password; as a shell takes it between single quotes. */
  readonly value: string;
  /** What it reaches for that, with its port. */
  readonly host?: string | undefined;
}

interface Fetcher {
  readonly programs: RegExp;
  /**
   * With their port: a mirror inside of a company may answer for the name, at an address that is not
   * public.
   */
  readonly hosts: readonly string[];
  /** The variables that name another place. */
  readonly places: readonly string[];
  /** The variables that name a file or folder of certificates. */
  readonly trust: readonly string[];
}

/** A program, where a command may begin. */
const program = (names: string): RegExp =>
  new RegExp(`(?:^|[\\s;&|(/=])(?:${names})(?=[\\s;&|)]|$)`);

/** Source: the tools' own settings and documents. */
const FETCHERS: readonly Fetcher[] = [
  {
    programs: program("npm|npx|pnpm|pnpx|bun|bunx|corepack"),
    hosts: ["registry.npmjs.org:443"],
    places: ["npm_config_registry"],
    trust: ["NODE_EXTRA_CA_CERTS"],
  },
  {
    programs: program("yarn"),
    hosts: ["registry.yarnpkg.com:443", "registry.npmjs.org:443"],
    places: ["npm_config_registry", "YARN_NPM_REGISTRY_SERVER"],
    trust: ["NODE_EXTRA_CA_CERTS"],
  },
  {
    programs: program("pip3?|poetry|pdm|uv"),
    hosts: ["pypi.org:443", "files.pythonhosted.org:443"],
    places: ["PIP_INDEX_URL", "UV_INDEX_URL", "UV_DEFAULT_INDEX"],
    trust: ["PIP_CERT", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE"],
  },
  {
    programs: program("go"),
    hosts: ["proxy.golang.org:443", "sum.golang.org:443"],
    places: ["GOPROXY"],
    trust: ["SSL_CERT_FILE", "SSL_CERT_DIR"],
  },
  {
    programs: program("cargo"),
    hosts: ["index.crates.io:443", "static.crates.io:443"],
    places: [],
    trust: ["CARGO_HTTP_CAINFO", "SSL_CERT_FILE"],
  },
  {
    programs: program("bundle|gem"),
    hosts: ["rubygems.org:443", "index.rubygems.org:443"],
    places: [],
    trust: ["SSL_CERT_FILE"],
  },
  {
    programs: program("mvn|mvnw|gradle|gradlew"),
    hosts: ["repo.maven.apache.org:443", "repo1.maven.org:443", "plugins.gradle.org:443"],
    places: [],
    trust: [],
  },
];

/** The public places of every tool that a command names. Pure. */
export function hostsOfCommand(command: string): readonly string[] {
  return fetchersIn(command).flatMap(({ hosts }) => hosts);
}

/** Whether a host is a place of packages: no work of an agent can take its place. Pure. */
export function isPackageHost(host: string): boolean {
  return FETCHERS.some(({ hosts }) => hosts.includes(`${host}:443`));
}

function fetchersIn(command: string): readonly Fetcher[] {
  return FETCHERS.filter(({ programs }) => programs.test(command));
}

/** A command that fetches as this machine does, and the hosts that it needs for that. Pure. */
export function withSettings(
  command: string,
  settings: readonly MachineSetting[],
): { readonly command: string; readonly hosts: readonly string[] } {
  const names = new Set(fetchersIn(command).flatMap(({ places, trust }) => [...places, ...trust]));
  const used = settings.filter(({ variable }) => names.has(variable));
  const set = used.map(({ variable, value }) => `export ${variable}='${value}'; `).join("");

  return { command: `${set}${command}`, hosts: used.flatMap(({ host }) => host ?? []) };
}

/**
 * What this machine says to tools that fetch: its own registries, and certificates that it trusts.
 * Names and passwords stay behind, for the setup runs code of the repository. Pure.
 *
 * @param npmrc the text of the person's own `.npmrc`
 */
export function machineSettings(
  env: Readonly<Record<string, string | undefined>>,
  npmrc = "",
): readonly MachineSetting[] {
  const ofFile = /^\s*registry\s*=\s*(\S+)/m.exec(npmrc)?.[1] ?? "";
  const places = namesOf("places").flatMap((variable): MachineSetting[] => {
    const said = env[variable] ?? (variable === "npm_config_registry" ? ofFile : "");
    const url = bareAddress(said);
    const isUsual = url === undefined || isPackageHost(url.hostname);
    return isUsual ? [] : [{ variable, value: url.href, host: hostOf(url) }];
  });
  const trust = namesOf("trust").flatMap((variable): MachineSetting[] => {
    const value = env[variable] ?? "";
    return /^\/[\w./@+-]+$/.test(value) ? [{ variable, value }] : [];
  });

  return [...places, ...trust];
}

function namesOf(what: "places" | "trust"): readonly string[] {
  return [...new Set(FETCHERS.flatMap((fetcher) => fetcher[what]))];
}

function hostOf({ hostname, port, protocol }: URL): string {
  return `${hostname}:${port || (protocol === "http:" ? "80" : "443")}`;
}

/** Undefined: it is no address of the web that a shell takes as it is. */
function bareAddress(text: string): URL | undefined {
  if (!/^https?:\/\/[^\s'",|]+$/.test(text) || !URL.canParse(text)) return undefined;
  const url = new URL(text);
  url.username = "";
  url.password = "";

  return url.search === "" ? url : undefined;
}
