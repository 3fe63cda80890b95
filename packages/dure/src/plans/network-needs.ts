import { addressesOfServers } from "./agents/mcp-servers.ts";
import { targetOfUrl, NO_NETWORK, type NetworkPolicy } from "./sandbox/network.ts";
import { workerOf, type Plan, type Port, type WorkerSpec } from "./plan.ts";

/**
 * What has a policy of its own. `workers`: their processes; the others are commands of the plan.
 */
export type NetworkUser = "workers" | "setup" | "check" | "acceptance" | "integration";

/** Policies by what they are for; what is not named keeps its default. */
export type NetworkPolicies = { readonly [User in NetworkUser]?: NetworkPolicy | undefined };

export interface NetworkFacts {
  /** `plans.network` of the team's configuration: counts where a plan says nothing. */
  readonly team: NetworkPolicies;
  /** dure's own environment: the addresses of models that a worker gets. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

/**
 * The policy of a command of the plan. The nearest word wins: port, plan, team; else none. Pure.
 */
export function policyOfCommand(
  user: Exclude<NetworkUser, "workers">,
  about: { readonly plan: Pick<Plan, "network">; readonly port: Pick<Port, "network"> | undefined },
  { team }: Pick<NetworkFacts, "team">,
): NetworkPolicy {
  const ofPort =
    user === "check" || user === "acceptance" ? about.port?.network?.[user] : undefined;
  return ofPort ?? about.plan.network?.[user] ?? team[user] ?? NO_NETWORK;
}

/**
 * The policy of a worker's processes. The nearest word wins: port, worker, plan, team; else
 * `provider` for agents, and for programs that get the key or address of a provider, and none for
 * all others. `provider` has the hosts of the worker's model. Pure.
 */
export function policyOfWorker(
  spec: WorkerSpec,
  about: { readonly plan: Pick<Plan, "network">; readonly port: Pick<Port, "network"> | undefined },
  { team, env }: NetworkFacts,
): NetworkPolicy {
  const said =
    about.port?.network?.workers ??
    spec.network ??
    about.plan.network?.workers ??
    team.workers ??
    defaultOf(spec);
  return said.kind === "provider"
    ? { kind: "provider", hosts: [...new Set([...said.hosts, ...hostsOf(spec, env)])] }
    : said;
}

/** Of a worker's model, and of the MCP servers that its plan gives it. */
function hostsOf(spec: WorkerSpec, env: NetworkFacts["env"]): readonly string[] {
  const servers = addressesOfServers(spec).map((url) => targetOfUrl(url));
  return [
    ...hostsOfModel(spec, env),
    ...servers.flatMap((target) => (target ? [hostOf(target)] : [])),
  ];
}

function hostOf({ host, port }: { readonly host: string; readonly port: number }): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

function defaultOf(spec: WorkerSpec): NetworkPolicy {
  const asksModel =
    spec.kind === "acp" ||
    (spec.kind === "command" &&
      namesOf(spec).some((name) => PROVIDERS.some(({ prefix }) => prefix.test(name))));
  return asksModel ? { kind: "provider", hosts: [] } : NO_NETWORK;
}

/** Every variable that a worker gets by the plan. */
function namesOf({ env = [], set = {} }: WorkerSpec): readonly string[] {
  return [...env, ...Object.keys(set)];
}

interface ModelProvider {
  /** Of the variables that carry its key and address. */
  readonly prefix: RegExp;
  /** Programs that speak to it without a key, by a login. */
  readonly programs: RegExp;
  readonly hosts: readonly string[];
}

/** Source: the providers' API references; hosts of logins as their own agents ask for them. */
const PROVIDERS: readonly ModelProvider[] = [
  {
    prefix: /^(?:ANTHROPIC|CLAUDE)_/,
    programs: /claude/,
    hosts: ["api.anthropic.com", "console.anthropic.com", "platform.claude.com"],
  },
  {
    prefix: /^(?:OPENAI|CODEX)_/,
    programs: /codex/,
    hosts: ["api.openai.com", "chatgpt.com", "auth.openai.com"],
  },
  {
    prefix: /^(?:GEMINI|GOOGLE)_/,
    programs: /gemini/,
    hosts: [
      "generativelanguage.googleapis.com",
      "cloudcode-pa.googleapis.com",
      "oauth2.googleapis.com",
    ],
  },
  {
    prefix: /^(?:DASHSCOPE|QWEN)_/,
    programs: /qwen/,
    hosts: [
      "dashscope.aliyuncs.com",
      "dashscope-intl.aliyuncs.com",
      "portal.qwen.ai",
      "chat.qwen.ai",
    ],
  },
  { prefix: /^OPENROUTER_/, programs: /openrouter/, hosts: ["openrouter.ai"] },
  { prefix: /^MISTRAL_/, programs: /mistral|vibe/, hosts: ["api.mistral.ai"] },
  { prefix: /^DEEPSEEK_/, programs: /deepseek/, hosts: ["api.deepseek.com"] },
];

/**
 * Where the model of a worker is: an address that it is given goes before its provider's own; a
 * worker without either is known by its program's name. Pure.
 */
function hostsOfModel(spec: WorkerSpec, env: NetworkFacts["env"]): readonly string[] {
  const values = { ...env, ...spec.set };
  // A preset names all that its agent may have; what dure does not have says nothing of its model.
  const named = namesOf(spec).filter(
    (name) => spec.agent === undefined || values[name] !== undefined,
  );
  const line = "command" in spec ? spec.command.join(" ") : "";
  const addresses = named
    .filter((name) => /(?:_URL|_ENDPOINT|_HOST|_BASE)$/.test(name))
    .map((name) => ({ name, target: targetOfUrl(values[name] ?? "") }));
  const given = addresses.flatMap(({ target }) => (target ? [hostOf(target)] : []));
  const hasKey = PROVIDERS.some(({ prefix }) => named.some((name) => prefix.test(name)));
  const known = PROVIDERS.filter(({ prefix, programs }) => {
    if (addresses.some(({ name, target }) => target !== undefined && prefix.test(name))) {
      return false;
    }
    if (named.some((name) => prefix.test(name))) return true;

    return !hasKey && programs.test(line);
  });

  return [...given, ...known.flatMap(({ hosts }) => hosts)];
}

/**
 * Whose network a plan, or the team, opens to every public host, in the words of the plan. Pure.
 */
export function opensNetwork(plan: Plan, team: NetworkPolicies): readonly string[] {
  const facts = { team, env: {} };
  const users = (["setup", "check", "acceptance", "integration"] as const).filter(
    (user) => policyOfCommand(user, { plan, port: undefined }, facts).kind === "open",
  );
  const roles = rolesOf(plan)
    .filter(([, spec]) => policyOfWorker(spec, { plan, port: undefined }, facts).kind === "open")
    .map(([role]) => `workers.${role}`);
  const ports = plan.ports.flatMap((port) =>
    Object.entries(port.network ?? {}).flatMap(([user, policy]) =>
      policy?.kind === "open" ? [`ports.${port.id}.${user}`] : [],
    ),
  );

  return [...users, ...roles, ...ports];
}

/** Workers of a plan by what they are for. Pure. */
export function rolesOf({
  workers,
}: Pick<Plan, "workers">): readonly (readonly [string, WorkerSpec])[] {
  const named = Object.entries({
    default: workers.default,
    orchestrator: workers.orchestrator,
    ...workers.byRole,
  });

  return named.flatMap(([role, spec]) => (spec ? [[role, spec] as const] : []));
}

/**
 * How far each process of a plan gets, to be shown: its policy, and the hosts that are named. Pure.
 */
export function networkOf(
  plan: Plan,
  facts: NetworkFacts,
): readonly {
  readonly of: string;
  readonly policy: NetworkPolicy["kind"];
  readonly hosts: readonly string[];
}[] {
  const shown = (of: string, { kind, hosts }: NetworkPolicy) => ({ of, policy: kind, hosts });
  const commands = (["setup", "check", "acceptance", "integration"] as const).filter((user) =>
    isThere(plan, user),
  );
  const ofPorts = plan.ports.flatMap((port) =>
    Object.keys(port.network ?? {}).flatMap((user) => {
      if (user !== "workers") {
        return [
          shown(
            `ports.${port.id}.${user}`,
            policyOfCommand(user as "check", { plan, port }, facts),
          ),
        ];
      }
      const spec = workerOf(plan.workers, port.role);

      return spec
        ? [shown(`ports.${port.id}.workers`, policyOfWorker(spec, { plan, port }, facts))]
        : [];
    }),
  );

  return [
    ...commands.map((user) => shown(user, policyOfCommand(user, { plan, port: undefined }, facts))),
    ...rolesOf(plan).map(([role, spec]) =>
      shown(`workers.${role}`, policyOfWorker(spec, { plan, port: undefined }, facts)),
    ),
    ...ofPorts,
  ];
}

function isThere(plan: Plan, user: Exclude<NetworkUser, "workers">): boolean {
  if (user === "setup" || user === "integration") return plan[user] !== undefined;
  return user === "acceptance" || plan.ports.some(({ check }) => check !== undefined);
}
