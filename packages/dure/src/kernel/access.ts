/** Words of access that every reader shares. Source: docs/spec/platform §6. */

export const SCOPES = [
  "chat",
  "rooms",
  "jobs",
  "plans",
  "plans:read",
  "plans:run",
  "plans:merge",
  "plans:confirm",
  "plans:unconfined",
  "admin",
] as const;
export type Scope = (typeof SCOPES)[number];

/** Scopes that no other one holds: what they allow, an operator has given by name. */
export const SCOPES_BY_NAME: ReadonlySet<Scope> = new Set(["plans:confirm", "plans:unconfined"]);

/** Why callers need credentials, or do not. */
export const ACCESS_REASONS = [
  "login-always",
  "environment-token",
  "reachable-from-elsewhere",
  "public-host",
  "behind-a-proxy",
  "token-exists",
  "peers-unknown",
  "no-token",
] as const;
export type AccessReason = (typeof ACCESS_REASONS)[number];
