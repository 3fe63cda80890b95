import type { Clock } from "../../kernel/clock.ts";
import type { ChatLock, ChatState } from "./chat-types.ts";

/** Values that are kept; the oldest makes room. A busy bot claims some hundred a minute. */
const KEPT_VALUES = 10_000;
/** Entries of one list, whatever its adapter asks for. */
const LONGEST_LIST = 1_000;

interface Kept {
  readonly value: unknown;
  /** By the clock that never goes back. */
  readonly until: number;
}

/**
 * What an adapter keeps, in the memory of this process, bounded. What is lost with the process is
 * learned again or was only there to hear an update once, which dure's own record sees to.
 */
export class MemoryState implements ChatState {
  readonly #clock: Clock;
  readonly #kept = new Map<string, Kept>();
  #locks = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async connect(): Promise<void> {}

  async disconnect(): Promise<void> {
    this.#kept.clear();
  }

  async get<T = unknown>(key: string): Promise<T | null> {
    return (this.#read(key) ?? null) as T | null;
  }

  async set(key: string, value: unknown, ttlMs?: number): Promise<void> {
    this.#write(key, value, ttlMs);
  }

  async setIfNotExists(key: string, value: unknown, ttlMs?: number): Promise<boolean> {
    if (this.#read(key) !== undefined) return false;
    this.#write(key, value, ttlMs);

    return true;
  }

  async delete(key: string): Promise<void> {
    this.#kept.delete(key);
  }

  async appendToList(
    key: string,
    value: unknown,
    { maxLength = LONGEST_LIST, ttlMs }: { maxLength?: number; ttlMs?: number } = {},
  ): Promise<void> {
    const longest = Math.min(maxLength, LONGEST_LIST);
    this.#write(key, [...this.#list(key), value].slice(-longest), ttlMs);
  }

  async getList<T = unknown>(key: string): Promise<T[]> {
    return [...this.#list(key)] as T[];
  }

  async acquireLock(threadId: string, ttlMs: number): Promise<ChatLock | null> {
    if (this.#read(lockKey(threadId)) !== undefined) return null;
    this.#locks += 1;
    const token = String(this.#locks);
    this.#write(lockKey(threadId), token, ttlMs);

    return { threadId, token, expiresAt: this.#clock.now() + ttlMs };
  }

  async extendLock({ threadId, token }: ChatLock, ttlMs: number): Promise<boolean> {
    if (this.#read(lockKey(threadId)) !== token) return false;
    this.#write(lockKey(threadId), token, ttlMs);

    return true;
  }

  async releaseLock({ threadId, token }: ChatLock): Promise<void> {
    if (this.#read(lockKey(threadId)) === token) this.#kept.delete(lockKey(threadId));
  }

  async forceReleaseLock(threadId: string): Promise<void> {
    this.#kept.delete(lockKey(threadId));
  }

  async subscribe(threadId: string): Promise<void> {
    this.#write(`subscribed ${threadId}`, true);
  }

  async unsubscribe(threadId: string): Promise<void> {
    this.#kept.delete(`subscribed ${threadId}`);
  }

  async isSubscribed(threadId: string): Promise<boolean> {
    return this.#read(`subscribed ${threadId}`) === true;
  }

  async enqueue(threadId: string, entry: unknown, maxSize: number): Promise<number> {
    await this.appendToList(queueKey(threadId), entry, { maxLength: maxSize });

    return this.queueDepth(threadId);
  }

  async dequeue(threadId: string): Promise<unknown> {
    const [first = null, ...rest] = this.#list(queueKey(threadId));
    this.#write(queueKey(threadId), rest);

    return first;
  }

  async queueDepth(threadId: string): Promise<number> {
    return this.#list(queueKey(threadId)).length;
  }

  #list(key: string): readonly unknown[] {
    const value = this.#read(key);
    return Array.isArray(value) ? value : [];
  }

  #read(key: string): unknown {
    const kept = this.#kept.get(key);
    if (kept === undefined) return undefined;
    if (kept.until > this.#clock.monotonic()) return kept.value;
    this.#kept.delete(key);

    return undefined;
  }

  #write(key: string, value: unknown, ttlMs = Number.POSITIVE_INFINITY): void {
    this.#kept.delete(key); // so that it counts as the youngest
    this.#kept.set(key, { value, until: this.#clock.monotonic() + ttlMs });
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > KEPT_VALUES && oldest !== undefined) this.#kept.delete(oldest);
  }
}

function lockKey(threadId: string): string {
  return `lock ${threadId}`;
}

function queueKey(threadId: string): string {
  return `queue ${threadId}`;
}
