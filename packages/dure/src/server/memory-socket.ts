import { Duplex } from "node:stream";
import type { Principal } from "./access.ts";

/**
 * One end of a connection within this process. What one end writes the other reads; a writer waits
 * until its bytes are taken. When one end is gone, the other is gone too.
 */
export class MemorySocket extends Duplex {
  /**
   * The embedding application counts as a proxy at this machine: `server.trustProxy` says whether
   * its `X-Forwarded-For` is believed.
   */
  readonly remoteAddress = "127.0.0.1";
  /** Set at the server's end: for whom this process asks itself. */
  asks: Principal | undefined;
  #peer: MemorySocket | undefined;
  /** Tells the writer at the other end that its bytes were taken. */
  #taken: (() => void) | undefined;

  /** @param asks whose requests come in at the second end, where that is known already */
  static pair(asks?: Principal): readonly [MemorySocket, MemorySocket] {
    const ends = [new MemorySocket(), new MemorySocket()] as const;
    ends[0].#connect(ends[1]);
    ends[1].#connect(ends[0]);
    ends[1].asks = asks;

    return ends;
  }

  override _read(): void {
    const taken = this.#taken;
    this.#taken = undefined;
    taken?.();
  }

  override _write(bytes: Buffer, _encoding: BufferEncoding, done: () => void): void {
    const peer = this.#peer!;
    if (peer.destroyed) return; // it has ended and answered: this end closes when that is read

    peer.#taken = done;
    peer.push(bytes);
  }

  override _final(done: () => void): void {
    this.#peer!.push(null);
    done();
  }

  /** Closes as soon as all is written, as a `Socket` does; the other end still reads the rest. */
  destroySoon(): void {
    this.end(() => this.destroy());
  }

  #connect(peer: MemorySocket): void {
    this.#peer = peer;
    this.once("close", () => {
      if (!this.writableFinished) peer.destroy();
    });
    this.on("error", () => {}); // HTTP at both ends hears of a broken connection by `close`
  }
}
