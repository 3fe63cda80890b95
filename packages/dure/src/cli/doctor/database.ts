import { existsSync } from "node:fs";
import path from "node:path";
import type { Database } from "../../durable/database.ts";
import { checkServer } from "../../durable/server-check.ts";
import { accessText, decideAccess } from "../../server/access-mode.ts";
import { decideSearch, findExtension } from "../../knowledge/pgvector.ts";
import { openPeerOwners } from "../../server/peer-owner.ts";
import { PostgresTokenStore, type TokenRecord } from "../../server/token-store.ts";
import { agentServices } from "../../team/agents.ts";
import { missingRoles } from "../../team/missing-roles.ts";
import type { LoadedTeam } from "../../team/config.ts";
import type { Environment } from "../../team/environment.ts";
import { settingsOf } from "../../team/limits.ts";
import { checkWaiting } from "../../team/rooms.ts";
import { lookAtDatabase } from "../database.ts";
import { failed, type Finding } from "./finding.ts";
import { homeOf } from "./machine.ts";
import { findingOf } from "./rooms.ts";
import { checkExposure } from "./server.ts";

/** The database as it is: one that does not run is not started for a look. */
export async function checkDatabase({
  folder,
  environment,
  team,
}: {
  readonly folder: string;
  readonly environment: Environment;
  readonly team: LoadedTeam | undefined;
}): Promise<readonly Finding[]> {
  try {
    const found = await lookAtDatabase({ folder, environment });
    if (found.database === undefined) {
      const isNew = !existsSync(path.join(homeOf(folder, environment), "pg"));
      const exposure = team ? checkExposure(team, environment, isNew ? false : undefined) : [];
      return [{ name: "database", status: "ok", detail: found.where }, ...exposure];
    }
    await using opened = found;
    await checkServer(opened.database);
    const [row] = await opened.database.query<{ version: string }>({
      text: "select current_setting('server_version') as version",
    });
    const reached: Finding = {
      name: "database",
      status: "ok",
      detail: `${opened.where}, PostgreSQL ${row?.version ?? "?"}, session connections`,
    };
    const waiting = team ? await checkWaiting(team, environment, opened.database) : [];
    const access = team ? await checkAccess(team, environment, opened.database) : [];
    const vectors = team ? await checkVectors(team, opened.database) : [];
    const roles = team ? await checkRoles(team, opened.database) : [];
    return [reached, ...access, ...vectors, ...roles, ...waiting.map(findingOf)];
  } catch (error) {
    const exposure = team ? checkExposure(team, environment, undefined) : [];
    return [failed("database", error), ...exposure];
  }
}

/** How a base with an embedding model would be searched. */
async function checkVectors({ config }: LoadedTeam, database: Database): Promise<Finding[]> {
  const bases = Object.values(config.knowledge ?? {});
  if (bases.every(({ embedding }) => embedding === undefined)) return [];

  const { by, because } = decideSearch(await findExtension(database));
  const way = by === "exact" ? "compared exactly" : "found by an index";
  return [{ name: "vectors of documents", status: "ok", detail: `${way}: ${because}` }];
}

/** Who would need a token or a login, and why: as the server decides it. */
async function checkAccess(
  team: LoadedTeam,
  environment: Environment,
  database: Database,
): Promise<readonly Finding[]> {
  const { host, loginAlways, allowedHosts, trustProxy } = settingsOf(team.config, environment);
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
  return [
    { name: "access", status: "ok", detail: accessText(decideAccess(facts)) },
    ...checkExposure(team, environment, hasLivingToken),
  ];
}

/** Roles that tools ask for and no token has. */
async function checkRoles(team: LoadedTeam, database: Database): Promise<Finding[]> {
  const services = [...Object.values(team.services), ...(await agentServices(team))];
  const stored = new PostgresTokenStore({ database });
  const list = async (): Promise<readonly TokenRecord[]> =>
    (await hasTokens(database)) ? stored.list() : [];
  const missing = await missingRoles(services, { list });
  return missing.map(({ role, detail, hint }) => ({
    name: `role ${role}`,
    status: "warn",
    detail,
    hint,
  }));
}

async function anyToken(database: Database): Promise<boolean> {
  return (await hasTokens(database)) && (await new PostgresTokenStore({ database }).anyLiving());
}

/** A database that no team has used yet holds none. */
async function hasTokens(database: Database): Promise<boolean> {
  const [row] = await database.query<{ isThere: boolean }>({
    text: `select to_regclass('dure.tokens') is not null as "isThere"`,
  });
  return row?.isThere === true;
}
