import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";

/**
 * A TCP relay between one server and one thing that it needs. It can cut its connections, and it
 * can leave them half-open: the far side sees the end of each, the near side sees a connection
 * that is open and silent.
 */
export class Forwarder implements AsyncDisposable {
  readonly host: string;
  readonly port: number;
  readonly #listener: Server;
  readonly #target: { readonly host: string; readonly port: number };
  readonly #lines = new Set<Line>();
  #isSilent = false;

  private constructor(listener: Server, target: { readonly host: string; readonly port: number }) {
    const { address, port } = listener.address() as AddressInfo;
    this.host = address;
    this.port = port;
    this.#listener = listener;
    this.#target = target;
    listener.on("connection", (near) => this.#open(near));
  }

  /** @param host where it listens: the near side's gateway, or loopback. */
  static async start(
    host: string,
    target: { readonly host: string; readonly port: number },
  ): Promise<Forwarder> {
    const listener = createServer({ noDelay: true });
    listener.listen(0, host);
    await once(listener, "listening");
    return new Forwarder(listener, target);
  }

  /** Closes every connection on both sides; gives how many there were. */
  cut(): number {
    const count = this.#lines.size;
    for (const { near, far } of this.#lines) {
      far?.destroy();
      near.destroy();
    }
    return count;
  }

  /**
   * From now on connections are accepted and deliver nothing; those that stand are lost to the far
   * side alone.
   */
  fallSilent(): number {
    this.#isSilent = true;
    for (const line of this.#lines) {
      line.far?.destroy();
      line.far = undefined;
    }
    return this.#lines.size;
  }

  /** The end of the silence: what hung is closed, new connections work. */
  speakAgain(): void {
    this.#isSilent = false;
    for (const { near, far } of this.#lines) if (!far) near.destroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cut();
    this.#listener.close();
    await once(this.#listener, "close");
  }

  #open(near: Socket): void {
    const line: Line = { near, far: undefined };
    this.#lines.add(line);
    near.on("error", () => {});
    near.on("close", () => {
      this.#lines.delete(line);
      line.far?.destroy();
    });
    if (this.#isSilent) return void near.resume();
    const far = connect({ ...this.#target, noDelay: true });
    line.far = far;
    far.on("error", () => {});
    far.on("data", (bytes) => line.far === far && pass(bytes, far, near));
    near.on("data", (bytes) => line.far === far && pass(bytes, near, far));
    near.on("drain", () => far.resume());
    far.on("drain", () => near.resume());
    far.on("close", () => {
      near.resume();
      if (line.far === far) near.end(); // not in a silence: the near side must not hear of it
    });
    near.on("end", () => far.end());
  }
}

/** No more is read than the other side takes. */
function pass(bytes: Buffer | string, from: Socket, to: Socket): void {
  if (to.destroyed) return;
  if (!to.write(bytes)) from.pause();
}

interface Line {
  readonly near: Socket;
  /** Absent while the near side has no connection. */
  far: Socket | undefined;
}
