import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm, statfs } from "node:fs/promises";
import { createServer } from "node:net";
import { homedir, tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { chooseLlm } from "../engine/agent/agent-model.ts";
import type { AnyService, LeafService } from "../engine/service/combine.ts";
import type { Service } from "../engine/service/service.ts";
import type { Database } from "../durable/database.ts";
import { checkServer } from "../durable/server-check.ts";
import { systemClock, withTimeout } from "../kernel/clock.ts";
import { codeOf, DureError, messageOf } from "../kernel/errors.ts";
import { modelName } from "../models/card.ts";
import type { LlmRef, OutputSpec } from "../models/model.ts";
import { Models } from "../models/models.ts";
import type { OutputFormat } from "../models/output-format.ts";
import { silentLogger } from "../kernel/logger.ts";
import { openSandbox, type IsolationKind } from "../plans/sandbox/sandbox.ts";
import { agentServices } from "../team/agents.ts";
import { loadTeam, type LoadedTeam } from "../team/config.ts";
import type { Environment } from "../team/environment.ts";
import {
  everyModelOf,
  modelOf,
  originText,
  pricesOf,
  providersOf,
  resolveLimits,
  settingsOf,
  type ResolvedSetting,
} from "../team/limits.ts";
import { accessText, decideAccess } from "../server/access-mode.ts";
import { isLoopbackName } from "../server/names.ts";
import { openPeerOwners } from "../server/peer-owner.ts";
import { PostgresTokenStore } from "../server/token-store.ts";
import { checkAccounts, checkWaiting, type AccountFinding } from "../team/rooms.ts";
import { openDatabase } from "./database.ts";
import { EXIT, type ExitCode, type Output } from "./output.ts";

export interface Check {
  readonly name: string;
  readonly status: "ok" | "warn" | "fail";
  /** What was found. */
  readonly detail: string;
  readonly hint?: string | undefined;
}

/**
 * Free disk space below which doctor warns, bytes. A busy day of a small team writes some 100 MB.
 */
const LITTLE_SPACE = 1_073_741_824;

/**
 * Looks at everything that a start needs, without starting it, then says where each limit comes
 * from.
 */
export async function doctor(options: {
  folder: string;
  environment: Environment;
  output: Output;
}): Promise<ExitCode> {
  const { output } = options;
  const checks: Check[] = [];

  const show = (check: Check): void => {
    checks.push(check);
    const { green, yellow, red, dim } = output.colors;
    const mark = { ok: green("ok  "), warn: yellow("warn"), fail: red("fail") }[check.status];
    output.line(`${mark} ${check.name}: ${check.detail}`);
    if (check.hint) output.line(`     ${dim(check.hint)}`);
  };

  show({ name: "node", status: "ok", detail: process.version });
  for (const warning of options.environment.warnings) {
    show({ name: "environment", status: "warn", detail: warning });
  }
  const team = await checkTeam(options.folder, options.environment, show);

  if (team) {
    for (const check of await checkModels(team, options.environment)) show(check);
    for (const check of await checkServerAddress(team, options.environment)) show(check);
    for (const check of await checkRooms(team, options.environment)) show(check);
  }

  for (const check of await checkDatabase(options.folder, options.environment, team)) show(check);
  show(await checkGit());
  show(await checkIsolation());
  show(await checkDisk(options.folder, options.environment));

  const limits = team ? resolveLimits(team, options.environment) : [];

  if (limits.length > 0) {
    output.line();
    output.table(limits.map((limit) => [limit.key, valueText(limit), originText(limit.origin)]));
  }

  const ok = checks.every((check) => check.status !== "fail");

  output.result({
    ok,
    checks,
    limits: limits.map((limit) => ({ ...limit, origin: originText(limit.origin) })),
  });

  return ok ? EXIT.ok : EXIT.failed;
}

async function checkTeam(
  folder: string,
  environment: Environment,
  show: (check: Check) => void,
): Promise<LoadedTeam | undefined> {
  try {
    const team = await loadTeam(folder);
    settingsOf(team.config, environment);
    show({
      name: "config",
      status: "ok",
      detail: `${team.document?.file ?? "defineTeam"}, services ${Object.keys(team.services).join(", ")}`,
    });
    return team;
  } catch (error) {
    show(failed("config", error));
    return undefined;
  }
}

/**
 * Each model is asked a real question, so that a wrong key, name or address shows here and not in
 * the first conversation.
 */
async function checkModels(team: LoadedTeam, environment: Environment): Promise<Check[]> {
  const models = new Models({
    clock: systemClock,
    logger: silentLogger,
    providers: providersOf(environment),
    prices: pricesOf(team.config),
    offline: team.config.offlineModels ?? [],
  });
  try {
    const used = await modelsOf(team, environment);
    return await Promise.all(
      [...used].map(([name, { llm, agents }]) =>
        checkModel(models, llm, `${name}, used by ${agents.join(", ")}`),
      ),
    );
  } catch (error) {
    return [failed("agents", error)];
  }
}

/** Longest wait for the answer of one model, milliseconds. */
const MODEL_WAIT = 5_000;
/**
 * Enough for a word; a model that thinks first answers nothing within it, which says as well that
 * it is there.
 */
const MODEL_TOKENS = 32;
/** Failures of a model that was reached, let us in, and knows its name. */
const REACHED = new Set(["MODEL_EMPTY", "MODEL_FORMAT", "MODEL_REFUSED"]);

/** Asked for as JSON at temperature 0, as an agent that decides asks. */
const MODEL_OUTPUT: OutputSpec = {
  schema: {
    type: "object",
    properties: { ok: { type: "boolean" } },
    required: ["ok"],
    additionalProperties: false,
  },
};

/** How each way of asking for JSON is told. */
const JSON_WAYS = {
  strict: "JSON in strict mode",
  json_schema: "JSON by a schema",
  tool: "JSON by a tool",
  json_object: "JSON without a schema",
  text: "JSON out of text",
} as const satisfies Record<OutputFormat, string>;

/** What the model turned out to take when it was asked. */
function abilitiesOf(models: Models, llm: LlmRef): string {
  const { format, hasTemperature } = models.wayOf(llm, MODEL_OUTPUT);
  const json = format === undefined ? undefined : JSON_WAYS[format];

  return [json, hasTemperature ? undefined : "no temperature"].filter(Boolean).join(", ");
}

async function checkModel(models: Models, llm: LlmRef, usedBy: string): Promise<Check> {
  try {
    const call = models.resolve(llm);
    if (llm.provider === "offline") return { name: "model", status: "ok", detail: usedBy };
    await call.stream(
      {
        messages: [{ role: "user", text: "Say ok." }],
        output: MODEL_OUTPUT,
        temperature: 0,
        maxOutputTokens: MODEL_TOKENS,
      },
      { timeoutMs: MODEL_WAIT },
    );
  } catch (error) {
    const code = codeOf(error) ?? "";
    if (code === "MODEL_TIMEOUT") {
      return {
        name: "model",
        status: "fail",
        detail: `${usedBy}: no answer within ${MODEL_WAIT / 1_000} s`,
        hint: "Check the address and the connection; a slow model may still do.",
      };
    }
    if (code === "MODEL_RATE_LIMITED") {
      return {
        name: "model",
        status: "warn",
        detail: `${usedBy}: answers, but takes no more calls at the moment`,
        hint: "Wait, or raise the limit at the provider.",
      };
    }
    if (!REACHED.has(code)) {
      return { ...failed("model", error), detail: `${usedBy}: ${code} ${messageOf(error)}` };
    }
  }

  if (models.priceOf(llm) === undefined) {
    return {
      name: "model",
      status: "warn",
      detail: `${usedBy}: answers (${abilitiesOf(models, llm)}), but has no price, so it is counted in tokens`,
      hint: `Add prices: { "${modelName(llm)}": { in: …, out: … } } in USD per million tokens.`,
    };
  }

  return {
    name: "model",
    status: "ok",
    detail: `${usedBy}: answers (${abilitiesOf(models, llm)})`,
  };
}

/** Every model that an agent may call, fallbacks included; the same one at two addresses is two. */
async function modelsOf(
  team: LoadedTeam,
  environment: Environment,
): Promise<Map<string, { llm: LlmRef; agents: string[] }>> {
  const models = new Map<string, { llm: LlmRef; agents: string[] }>();
  const ofTeam = modelOf(team.config, environment);
  const services = [...Object.values(team.services), ...(await agentServices(team))];

  for (const service of services.flatMap(leavesOf)) {
    for (const [key, agent] of Object.entries(service.agents)) {
      const llm = chooseLlm(agent.card.llm, ofTeam, everyModelOf(environment));
      for (const ref of [llm, ...llm.fallbacks]) {
        const name =
          ref.baseUrl === undefined ? modelName(ref) : `${modelName(ref)} at ${ref.baseUrl}`;
        const known = models.get(name);
        if (known) known.agents.push(`${service.name}.${key}`);
        else models.set(name, { llm: ref, agents: [`${service.name}.${key}`] });
      }
    }
  }

  return models;
}

/** Longest wait for what a platform says about all accounts, milliseconds. */
const PLATFORM_WAIT = 20_000;

async function checkRooms(team: LoadedTeam, environment: Environment): Promise<Check[]> {
  try {
    const late = (): Error => new Error(`no answer within ${PLATFORM_WAIT / 1_000} s`);
    const findings = await withTimeout(systemClock, PLATFORM_WAIT, late, (signal) =>
      checkAccounts(team, environment, { clock: systemClock, logger: silentLogger, signal }),
    );
    const agents = Object.keys(team.config.agents ?? {});
    const mapping: Check[] =
      agents.length === 0 ? [] : [{ name: "agents", status: "ok", detail: agents.join(", ") }];
    return [...mapping, ...findings.map(findingOf)];
  } catch (error) {
    return [failed("rooms", error)];
  }
}

function findingOf({ adapter, agent, ok, what, hint }: AccountFinding): Check {
  return {
    name: `${adapter} ${agent}`,
    status: ok ? "ok" : "fail",
    detail: what,
    hint,
  };
}

/** Services of this process; a remote one has its models elsewhere. */
function leavesOf(service: AnyService): readonly Service[] {
  const leaves: readonly LeafService[] =
    service.kind === "combined" ? [...service.services.values()] : [service];
  return leaves.filter((leaf) => leaf.kind === "service");
}

async function checkServerAddress(team: LoadedTeam, environment: Environment): Promise<Check[]> {
  const { host, port } = settingsOf(team.config, environment);
  const checks: Check[] = [];

  if (!isLoopbackName(host) && environment.token === undefined) {
    checks.push({
      name: "token",
      status: "warn",
      detail: `${host} can be reached from outside and DURE_TOKEN is not set`,
      hint: "Without a token in DURE_TOKEN or the database the start is refused.",
    });
  }

  const error = await tryToListen(host, port);

  if (error === undefined) {
    checks.push({ name: "port", status: "ok", detail: `${host}:${port} is free` });
  } else if (error === "EADDRINUSE" && (await isDure(host, port))) {
    checks.push({
      name: "port",
      status: "ok",
      detail: `a dure answers at ${host}:${port} already`,
    });
  } else {
    checks.push({
      name: "port",
      status: "fail",
      detail: `${host}:${port} cannot be used (${error})`,
      hint:
        error === "EADDRINUSE"
          ? "Another program has it: stop that, or set PORT."
          : "Set HOST or PORT to an address of this machine.",
    });
  }

  return checks;
}

function tryToListen(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(undefined)));
  });
}

async function isDure(host: string, port: number): Promise<boolean> {
  try {
    const address = `http://${host.includes(":") ? `[${host}]` : host}:${port}/healthz`;
    return await withTimeout(
      systemClock,
      2_000,
      () => new Error("no answer within 2 s"),
      async (signal) => {
        const response = await fetch(address, { signal });
        return response.ok && "version" in ((await response.json()) as object);
      },
    );
  } catch {
    return false;
  }
}

async function checkDatabase(
  folder: string,
  environment: Environment,
  team: LoadedTeam | undefined,
): Promise<Check[]> {
  try {
    await using opened = await openDatabase({ folder, environment });
    await checkServer(opened.database);
    const [row] = await opened.database.query<{ version: string }>({
      text: "select current_setting('server_version') as version",
    });
    const reached: Check = {
      name: "database",
      status: "ok",
      detail: `${opened.where}, PostgreSQL ${row?.version ?? "?"}, session connections`,
    };
    const waiting = team ? await checkWaiting(team, environment, opened.database) : [];
    const access = team ? [await checkAccess(team, environment, opened.database)] : [];
    return [reached, ...access, ...waiting.map(findingOf)];
  } catch (error) {
    return [failed("database", error)];
  }
}

/** Who would need a token or a login, and why: as the server decides it. */
async function checkAccess(
  { config }: LoadedTeam,
  environment: Environment,
  database: Database,
): Promise<Check> {
  const { host, loginAlways, allowedHosts, trustProxy } = settingsOf(config, environment);
  const [hasLivingToken, peers] = await Promise.all([anyToken(database), openPeerOwners()]);

  const facts = {
    host,
    loginAlways,
    allowedHosts,
    trustProxy,
    hasEnvironmentToken: environment.token !== undefined,
    hasLivingToken,
    namesPeers: peers !== undefined,
  };

  return { name: "access", status: "ok", detail: accessText(decideAccess(facts)) };
}

/** A database that no team has used yet holds none. */
async function anyToken(database: Database): Promise<boolean> {
  const [row] = await database.query<{ isThere: boolean }>({
    text: `select to_regclass('dure.tokens') is not null as "isThere"`,
  });
  return row?.isThere === true && (await new PostgresTokenStore({ database }).anyLiving());
}

/** Which kind of isolation workers of plans would get here. */
async function checkIsolation(): Promise<Check> {
  const folder = await mkdtemp(path.join(tmpdir(), "dure-doctor-"));
  try {
    const { kind, promises } = await openSandbox({
      wanted: "enforced",
      prefer: "namespaces",
      folder,
      home: homedir(),
      clock: systemClock,
    });
    const { user, isOtherUser, files } = promises;
    const holds = [
      "a network of their own",
      isOtherUser ? `user ${user}` : "dure's own user",
      files === "enforced"
        ? "secrets and other homes covered"
        : "beside their copies what the modes of files allow",
    ];
    const isWhole = files === "enforced" && (isOtherUser || process.getuid?.() !== 0);
    const found = {
      name: "isolation",
      detail: `workers of plans run in ${ISOLATION[kind]}: ${holds.join(", ")}`,
    };
    return isWhole
      ? { ...found, status: "ok" }
      : {
          ...found,
          status: "warn",
          hint:
            "Let dure make namespaces (util-linux, iproute2 or bubblewrap), so that secrets " +
            "are kept from workers.",
        };
  } catch (error) {
    return {
      name: "isolation",
      status: "warn",
      detail: messageOf(error),
      hint:
        error instanceof DureError && error.hint !== undefined ? error.hint : "Only plans need it.",
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const ISOLATION = {
  bubblewrap: "bubblewrap",
  namespaces: "namespaces of their own",
  "other-user": "the name of another user, on a copy",
  audit: "audit, without protection",
} as const satisfies Record<IsolationKind, string>;

async function checkGit(): Promise<Check> {
  try {
    const { stdout } = await promisify(execFile)("git", ["--version"]);
    return { name: "git", status: "ok", detail: stdout.trim() };
  } catch {
    return { name: "git", status: "warn", detail: "not found", hint: "Only plans need it." };
  }
}

async function checkDisk(folder: string, environment: Environment): Promise<Check> {
  let home = path.resolve(folder, environment.home ?? ".dure");
  while (!existsSync(home)) home = path.dirname(home);
  const { bavail, bsize } = await statfs(home);
  const free = bavail * bsize;
  const detail = `${(free / 1_073_741_824).toFixed(1)} GiB free at ${home}`;

  return free < LITTLE_SPACE
    ? { name: "disk", status: "warn", detail, hint: "Make room, or set DURE_HOME to another disk." }
    : { name: "disk", status: "ok", detail };
}

function failed(name: string, error: unknown): Check {
  const hint = error instanceof DureError ? error.hint : undefined;
  const code = error instanceof DureError ? `${error.code} ` : "";

  return {
    name,
    status: "fail",
    detail: `${code}${messageOf(error)}`,
    hint,
  };
}

function valueText({ value, unit }: ResolvedSetting): string {
  const text =
    value === undefined
      ? "–"
      : Array.isArray(value)
        ? value.join(", ") || "none"
        : typeof value === "string"
          ? value
          : JSON.stringify(value);
  return unit === undefined || value === undefined ? text : `${text} ${unit}`;
}
