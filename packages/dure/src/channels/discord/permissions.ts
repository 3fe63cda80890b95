import type { WireOverwrite, WireRole } from "./wire-forms.ts";

/** The permissions that this adapter needs. Source: "Permissions: Bitwise Permission Flags". */
export const PERMISSIONS = {
  VIEW_CHANNEL: 1n << 10n,
  SEND_MESSAGES: 1n << 11n,
  ATTACH_FILES: 1n << 15n,
  READ_MESSAGE_HISTORY: 1n << 16n,
  CREATE_PUBLIC_THREADS: 1n << 35n,
  SEND_MESSAGES_IN_THREADS: 1n << 38n,
} as const;
export type Permission = keyof typeof PERMISSIONS;

/**
 * What each request needs where it is made. The adapter names it with the request, and `dure doctor`
 * asks for all of them: so no permission is needed that it does not show. Source: the page of each
 * request.
 */
export const NEEDS = {
  see: "VIEW_CHANNEL",
  read: "READ_MESSAGE_HISTORY",
  post: "SEND_MESSAGES",
  postInThread: "SEND_MESSAGES_IN_THREADS",
  attach: "ATTACH_FILES",
  openThread: "CREATE_PUBLIC_THREADS",
} as const satisfies Record<string, Permission>;

/** In the order of their bits, as the platform shows them. */
export const NEEDED: readonly Permission[] = Object.values(NEEDS).toSorted((one, other) =>
  PERMISSIONS[one] < PERMISSIONS[other] ? -1 : 1,
);

/** Source: "Channel Object: Channel Types". */
const ANNOUNCEMENT = 5;
const FORUM = 15;

/** Why agents cannot work in a channel, by its kind; text, announcements and forums are not here. */
export const UNFIT_KINDS: Readonly<Record<number, string>> = {
  2: "a voice channel",
  4: "a category",
  13: "a stage",
  14: "a directory",
  16: "a media channel, which takes no messages outside its posts",
};

/**
 * The type of a public thread of a channel. Source: "Channel Object: Channel Types": threads of
 * announcement channels have one of their own, and no other type is taken there.
 */
export function threadTypeIn(channelType: number | undefined): 10 | 11 {
  return channelType === ANNOUNCEMENT ? 10 : 11;
}

/** A forum has posts alone: a thread there begins with a message. */
export function isForum(channelType: number | undefined): boolean {
  return channelType === FORUM;
}

/**
 * What opening a thread needs. Source: "Channel: Start Thread in Forum or Media Channel": there
 * SEND_MESSAGES, and CREATE_PUBLIC_THREADS is ignored.
 */
export function openingNeeds(channelType: number | undefined): Permission {
  return isForum(channelType) ? NEEDS.post : NEEDS.openThread;
}

/** What a post needs: one of files has no words. */
export function postingNeeds({
  place,
  files,
}: {
  readonly place: { readonly thread?: string | undefined };
  readonly files?: readonly object[] | undefined;
}): Permission {
  if (files) return NEEDS.attach;
  return place.thread === undefined ? NEEDS.post : NEEDS.postInThread;
}

/** What a bot needs in a channel of this kind. */
export function neededIn(channelType: number): readonly Permission[] {
  return NEEDED.filter(
    (permission) => permission !== NEEDS.openThread || openingNeeds(channelType) === permission,
  );
}

/** Source: "Permissions: Bitwise Permission Flags": it has all others. */
const ADMINISTRATOR = 1n << 3n;

/**
 * Source: "Permissions: Permission Overwrites", in its order: everyone, roles, the channel's for
 * everyone, for roles, for the member. Pure.
 */
export function permissionsOf(facts: {
  readonly guild: string;
  readonly selfId: string;
  readonly memberRoles: readonly string[];
  readonly roles: readonly WireRole[];
  readonly overwrites: readonly WireOverwrite[];
}): bigint {
  const { guild, selfId, memberRoles, roles, overwrites } = facts;
  const base = roles
    .filter(({ id }) => id === guild || memberRoles.includes(id))
    .reduce((bits, { permissions }) => bits | BigInt(permissions), 0n);
  if ((base & ADMINISTRATOR) !== 0n) return ~0n;
  const apply = (bits: bigint, chosen: readonly WireOverwrite[]): bigint => {
    const deny = chosen.reduce((all, overwrite) => all | BigInt(overwrite.deny), 0n);
    const allow = chosen.reduce((all, overwrite) => all | BigInt(overwrite.allow), 0n);

    return (bits & ~deny) | allow;
  };
  const forEveryone = apply(
    base,
    overwrites.filter(({ id }) => id === guild),
  );
  const forRoles = apply(
    forEveryone,
    overwrites.filter(({ id }) => id !== guild && memberRoles.includes(id)),
  );

  return apply(
    forRoles,
    overwrites.filter(({ id }) => id === selfId),
  );
}
