import { jobOfSession } from "../jobs/job.ts";
import { codeOf } from "../kernel/errors.ts";
import { escalationOfSession } from "../kernel/escalation.ts";
import { isMadePrivate, placeOfSession, type Place } from "../rooms/place.ts";
import type { KnownTo } from "../kernel/tenant.ts";
import { hasScope, type Principal } from "./access.ts";

/** What a thing belongs to, as far as it says so. */
export interface Belonging {
  readonly session?: string | undefined;
  readonly room?: string | undefined;
  readonly job?: string | undefined;
}

/** Where its people are looked up. */
export interface Places {
  /** Undefined: it is not private, or there is no such place. */
  privatePlace(id: string): Promise<Pick<Place, "adapter" | "tenant" | "person"> | undefined>;
}

/** Where the beginning of work is looked up. */
export interface Works {
  originOf(job: string): Promise<string | undefined>;
}

/** Where it is looked up what a decision is about. */
export interface Decisions {
  /** Throws `ESCALATION_UNKNOWN`. */
  get(id: string, by: { readonly tenant: null }): Promise<{ readonly source: Belonging }>;
}

/** A tenant that no token can have: for it there is none of what others have. */
export const NO_TENANT = " ";

/**
 * A place of no person. Work and decisions that were removed may have begun in private, so what is
 * left of them is for operators alone.
 */
const REMOVED = "private_removed";

/**
 * Direct rooms and jobs that are remembered: who belongs to them never changes. Whether a channel of a
 * platform is private may change, and is looked up each time.
 */
const MAX_KNOWN = 10_000;

/**
 * Who may know of what is private: a direct room, a private thread or a private channel, the sessions of agents there, the
 * events of all, the work that was asked for there, and what the operator agent is asked about it. Its
 * person may, and an operator. For all others it does not exist. Source: docs/spec/collaboration §9.
 */
export class Members {
  readonly #rooms: Places | undefined;
  readonly #jobs: Works | undefined;
  readonly #inbox: Decisions | undefined;
  readonly #people = new Map<string, MemberPerson>();
  /** By the job: the private places in which its whole work began. */
  readonly #origins = new Map<string, readonly string[]>();

  constructor(parts: {
    rooms?: Places | undefined;
    jobs?: Works | undefined;
    inbox?: Decisions | undefined;
  }) {
    this.#rooms = parts.rooms;
    this.#jobs = parts.jobs;
    this.#inbox = parts.inbox;
  }

  async mayKnow(principal: Principal, of: Belonging): Promise<boolean> {
    if (hasScope(principal, "admin")) return true;
    const places = await this.#privatePlacesOf(of);
    const owner = ownerOf(principal.caller.tenant, principal.person);
    for (const place of places) {
      const person = await this.#personOf(place);
      const isOwn = owner !== undefined && person !== "all" && person?.owner === owner;
      if (person !== "all" && !isOwn) return false;
    }

    return true;
  }

  /** The tenant to look for a thing with: for what one may not know of, one that has nothing. */
  async view<View>(principal: Principal, of: Belonging, view: View): Promise<View | string> {
    return (await this.mayKnow(principal, of)) ? view : NO_TENANT;
  }

  /** Whose private places stand in a list that this caller reads; undefined: all. */
  listedFor(principal: Principal): KnownTo | undefined {
    if (hasScope(principal, "admin")) return undefined;
    return { tenant: principal.caller.tenant, person: principal.person ?? "" };
  }

  /** Those of the items that one may know of. */
  async known<Item>(
    principal: Principal,
    items: readonly Item[],
    belonging: (item: Item) => Belonging,
  ): Promise<readonly Item[]> {
    const known: Item[] = [];
    for (const item of items) {
      if (await this.mayKnow(principal, belonging(item))) known.push(item);
    }

    return known;
  }

  async #privatePlacesOf({ session = "", room = "", job }: Belonging): Promise<readonly string[]> {
    const places = [room, placeOfSession(session)?.place ?? ""].filter((place) => place !== "");
    const work = job ?? jobOfSession(session);
    const began = work === undefined ? [] : await this.#originOf(work);
    const decision = escalationOfSession(session);
    const asked = decision === undefined ? [] : await this.#placesOfDecision(decision);

    return [...places, ...began, ...asked];
  }

  async #originOf(job: string): Promise<readonly string[]> {
    const known = this.#origins.get(job);
    if (known !== undefined) return known;
    if (this.#jobs === undefined) return []; // a server without jobs

    const session = await this.#jobs.originOf(job);
    if (session === undefined) return [REMOVED];

    return remember(this.#origins, job, await this.#privatePlacesOf({ session }));
  }

  /** It was there before what is asked in its session, so this ends. */
  async #placesOfDecision(id: string): Promise<readonly string[]> {
    if (this.#inbox === undefined) return [];
    try {
      const { source } = await this.#inbox.get(id, { tenant: null });
      return await this.#privatePlacesOf(source);
    } catch (error) {
      if (codeOf(error) === "ESCALATION_UNKNOWN") return [REMOVED];
      throw error;
    }
  }

  /** The web's channels are open to their tenant. Null: there is no such place. */
  async #personOf(place: string): Promise<MemberPerson | "all" | null> {
    if (place.startsWith("web:")) return "all";
    const known = this.#people.get(place);
    if (known !== undefined) return known;

    const room = await this.#rooms?.privatePlace(place);
    if (!room) return isMadePrivate(place) ? null : "all";
    const isOwned = room.adapter === "web" && room.person !== null;
    const person = { owner: isOwned ? ownerOf(room.tenant, room.person) : null };

    return isMadePrivate(place) ? remember(this.#people, place, person) : person;
  }
}

/** Whose a private place is: `tenant person`; null: no person's that has a token. */
interface MemberPerson {
  readonly owner: string | null | undefined;
}

/** Undefined without a person: it owns nothing. */
function ownerOf(tenant: string, person: string | undefined): string | undefined {
  return person === undefined ? undefined : `${tenant} ${person}`;
}

function remember<Value>(map: Map<string, Value>, key: string, value: Value): Value {
  if (map.size >= MAX_KNOWN) map.delete(map.keys().next().value!);
  map.set(key, value);

  return value;
}
