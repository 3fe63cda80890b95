/**
 * The permissions that this double knows, as bits. Source: the platform's "Permissions: Bitwise
 * Permission Flags".
 */
export const PERMISSIONS = {
  ADMINISTRATOR: 1n << 3n,
  MANAGE_CHANNELS: 1n << 4n,
  MANAGE_GUILD: 1n << 5n,
  ADD_REACTIONS: 1n << 6n,
  VIEW_CHANNEL: 1n << 10n,
  SEND_MESSAGES: 1n << 11n,
  MANAGE_MESSAGES: 1n << 13n,
  EMBED_LINKS: 1n << 14n,
  ATTACH_FILES: 1n << 15n,
  READ_MESSAGE_HISTORY: 1n << 16n,
  MENTION_EVERYONE: 1n << 17n,
  MANAGE_THREADS: 1n << 34n,
  CREATE_PUBLIC_THREADS: 1n << 35n,
  CREATE_PRIVATE_THREADS: 1n << 36n,
  SEND_MESSAGES_IN_THREADS: 1n << 38n,
} as const satisfies Record<string, bigint>;

/** A permission of a role, by its name. */
export type FakePermission = keyof typeof PERMISSIONS;

/** What a bot has when nothing else is said: to read, to write, to open public threads. */
export const USUAL_PERMISSIONS: readonly FakePermission[] = [
  "VIEW_CHANNEL",
  "SEND_MESSAGES",
  "SEND_MESSAGES_IN_THREADS",
  "CREATE_PUBLIC_THREADS",
  "READ_MESSAGE_HISTORY",
  "ADD_REACTIONS",
  "EMBED_LINKS",
  "ATTACH_FILES",
];

export interface Overwrite {
  readonly allow: bigint;
  readonly deny: bigint;
}

export const ALL_PERMISSIONS: bigint = bitsOf(Object.keys(PERMISSIONS) as FakePermission[]);

export function bitsOf(names: readonly FakePermission[]): bigint {
  return names.reduce((bits, name) => bits | PERMISSIONS[name], 0n);
}

/** Whose overwrites count for a member, by id. */
export interface Overwritten {
  readonly everyone: string;
  readonly roles: readonly string[];
  readonly member: string;
}

/**
 * The permissions of a member in a channel: its roles', then the channel's overwrites for @everyone,
 * for its roles together (what one allows counts, whatever another denies), for the member. Source:
 * the platform's "Permissions: Permission Overwrites" and "Implicit Permissions" (who cannot view a
 * channel can do nothing there).
 */
export function permissionsIn(
  base: bigint,
  overwrites: ReadonlyMap<string, Overwrite>,
  { everyone, roles, member }: Overwritten,
): bigint {
  if ((base & PERMISSIONS.ADMINISTRATOR) !== 0n) return ALL_PERMISSIONS;
  const bits = [[everyone], roles, [member]].reduce((sofar, ids) => {
    const chosen = ids.flatMap((id) => overwrites.get(id) ?? []);
    const deny = chosen.reduce((all, overwrite) => all | overwrite.deny, 0n);
    const allow = chosen.reduce((all, overwrite) => all | overwrite.allow, 0n);

    return (sofar & ~deny) | allow;
  }, base);

  return (bits & PERMISSIONS.VIEW_CHANNEL) === 0n ? 0n : bits;
}
