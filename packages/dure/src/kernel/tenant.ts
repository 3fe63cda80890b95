/**
 * Whose things are seen: a tenant's, those without a tenant (`""`), or all (`null`). Only an
 * administrator without a tenant sees all. Source: docs/spec/platform §6.
 */
export type TenantView = string | null;

/** For whom a list is: of private places it has the person's own alone. */
export interface KnownTo {
  readonly tenant: string;
  /** Empty: a token of no person. */
  readonly person: string;
}

/**
 * Sessions that dure leads itself: an id stands in their names, so that no two tenants can have the
 * same one.
 */
const OWN_PREFIXES = ["job:", "room:", "escalation:"];

/** Whether dure leads this session itself: no person has a conversation in it. Pure. */
export function isOwnSession(session: string): boolean {
  return OWN_PREFIXES.some((prefix) => session.startsWith(prefix));
}

/**
 * How a session is stored. Two tenants may both say `ceo`: what is stored are `acme/ceo` and
 * `beta/ceo`. A session id holds no slash, so no two keys are equal. What is such a key already
 * stays as it is. Pure.
 */
export function sessionKey(tenant: string, session: string): string {
  if (tenant === "" || session.startsWith(`${tenant}/`)) return session;
  if (isOwnSession(session)) return session;
  return `${tenant}/${session}`;
}

/** Whose session a key names, where nothing else is known of it. Pure. */
export function tenantOfKey(key: string): string {
  return key.slice(0, Math.max(key.lastIndexOf("/"), 0));
}

/** The id that its tenant's people and programs know. Pure. */
export function sessionIdOfKey(key: string): string {
  return key.slice(key.lastIndexOf("/") + 1);
}

/** The id as this reader sees it: who sees all tenants sees whose session it is. Pure. */
export function sessionIdFor(view: TenantView, key: string): string {
  return view === null ? key : sessionIdOfKey(key);
}

/**
 * The stored key of a session that this reader names. Who sees all names another tenant's as
 * `acme/ceo`. Pure.
 */
export function sessionKeyFor(view: TenantView, session: string): string {
  return sessionKey(view ?? "", session);
}
