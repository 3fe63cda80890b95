/**
 * The log of what happened in the whole product, read by `/v1/events`. Source: docs/spec/platform
 * §3.
 */
export type EventRole = "conversation" | "delegation" | "orchestration" | "system";

/** An event as its writer gives it. */
export interface NewPlatformEvent {
  /** Lower case with dots: `turn.accepted`, `turn.done`, `effect.unknown`, `process.taken_over`. */
  readonly type: string;
  readonly role: EventRole;
  /** Whose it is. Absent: that of what it is about. */
  readonly tenant?: string | undefined;
  /** As it is stored: a tenant's as `<tenant>/<id>`. */
  readonly session?: string | undefined;
  readonly turn?: string | undefined;
  readonly service?: string | undefined;
  readonly agent?: string | undefined;
  readonly room?: string | undefined;
  readonly run?: string | undefined;
  readonly job?: string | undefined;
  readonly data: Readonly<Record<string, unknown>>;
}

/** An event as readers see it. */
export interface PlatformEvent extends NewPlatformEvent {
  /** Opaque position `era.xid.seq`; give it back as `Last-Event-ID` to continue behind it. */
  readonly id: string;
  /** Milliseconds since the epoch, by the database's clock. */
  readonly at: number;
}

export interface EventFilter {
  /** Events of this tenant alone; `""`: those of no tenant. Absent: of all. */
  readonly tenant?: string | undefined;
  /** Exact types, or a prefix ending in `.*` such as `turn.*`; absent means all. */
  readonly types?: readonly string[];
  readonly session?: string;
  readonly run?: string;
  readonly room?: string;
  readonly job?: string;
  readonly role?: EventRole;
}
