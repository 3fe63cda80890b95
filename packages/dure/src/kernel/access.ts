/** Words of access that every reader shares. Source: docs/spec/platform §6. */

export const SCOPES = [
  "chat",
  "rooms",
  "jobs",
  "plans",
  "plans:read",
  "plans:run",
  "plans:merge",
  "plans:unconfined",
  "admin",
] as const;
export type Scope = (typeof SCOPES)[number];

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
