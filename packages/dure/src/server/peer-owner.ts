import { closeSync, openSync, readSync } from "node:fs";
import { open, statfs } from "node:fs/promises";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { endianness } from "node:os";
import { systemClock, withTimeout } from "../kernel/clock.ts";

/**
 * Who has the other end of a connection: the user of this process, another one, or the system does
 * not tell.
 */
export type PeerOwner = "same-user" | "other-user" | "unknown";

/** Both ends of a connection, as the server's socket names them. */
export interface Ends {
  readonly remoteAddress: string;
  readonly remotePort: number;
  readonly localAddress: string;
  readonly localPort: number;
}

/** Of PROC_SUPER_MAGIC. Source: linux/magic.h. */
const PROC_MAGIC = 0x9fa0;
const TABLES = ["/proc/net/tcp", "/proc/net/tcp6"] as const;
/** Of a table, read at once. Linux fills about a page per call. */
const CHUNK_BYTES = 64 * 1024;
/** Of a table, between two turns of the loop: about 1,300 rows. */
const PAGES_AT_ONCE = 50;
/** Of a table, read at most: 400,000 connections of 150 bytes. Beyond it the peer is unknown. */
const TABLE_BYTES = 64 * 1024 * 1024;
/** Of one line: those of tcp6 have 180. */
const LINE_BYTES = 512;
/**
 * For one look through both tables, milliseconds. Measured: 18,000 rows take 100 to 220 ms on two
 * busy cores, the loop stands still for 20 ms at most.
 */
const LOOK_MS = 2_000;
/**
 * A row can be passed over while others come and go, so a missing one is looked for again. Measured:
 * of 7,906 requests in 8 minutes of churn, two looks missed two.
 */
const LOOKS = 4;

/** Peers that wait for one look through the tables, by the key of their connection. */
type Wanted = Map<string, (uid: number) => void>;

/**
 * Says who owns the other end of a loopback connection, from Linux's tables of this network
 * namespace. Asked once per connection. However many ask, one look at a time goes through the
 * tables, and it answers all who asked before it began. The uid is that of the process that made
 * the socket.
 */
export class PeerOwners {
  readonly #known = new WeakMap<Socket, Promise<PeerOwner>>();
  readonly #uid: number;
  #waiting: Wanted = new Map();
  #next: Promise<void> | undefined;
  #current: Promise<void> = Promise.resolve();

  constructor(options: { uid: number }) {
    this.#uid = options.uid;
  }

  /** Never rejects. */
  of(socket: Socket): Promise<PeerOwner> {
    const known = this.#known.get(socket);
    if (known) return known;

    const asked = this.#ask(socket);
    this.#known.set(socket, asked);
    // The next request asks again.
    void asked.then((owner) => owner === "unknown" && this.#known.delete(socket));

    return asked;
  }

  async #ask(socket: Socket): Promise<PeerOwner> {
    const { remoteAddress, remotePort, localAddress, localPort } = socket;
    if (
      remoteAddress === undefined ||
      remotePort === undefined ||
      localAddress === undefined ||
      localPort === undefined
    ) {
      return "unknown";
    }

    const key = keyOf({ remoteAddress, remotePort, localAddress, localPort });
    if (key === undefined) return "unknown";

    for (let looks = 0; looks < LOOKS; looks++) {
      const uid = await this.#look(key);
      if (uid !== undefined) return uid === this.#uid ? "same-user" : "other-user";
    }

    return "unknown";
  }

  /** Waits for a look that begins after now. */
  async #look(key: string): Promise<number | undefined> {
    let found: number | undefined;
    this.#waiting.set(key, (uid) => (found = uid));
    await (this.#next ??= this.#current.then(() => this.#begin()));

    return found;
  }

  #begin(): Promise<void> {
    const wanted = this.#waiting;
    this.#waiting = new Map();
    this.#next = undefined;
    this.#current = lookFor(wanted).catch(() => {}); // a table that cannot be read leaves them unknown

    return this.#current;
  }
}

/**
 * Whether this system names the owner of a loopback connection. Tried with a connection of our own,
 * not assumed: some sandboxes have the tables and leave them empty. Not told where our own user is
 * the one that stands for all unmapped users.
 */
export async function openPeerOwners(): Promise<PeerOwners | undefined> {
  const uid = process.getuid?.();
  if (process.platform !== "linux" || uid === undefined) return undefined;

  try {
    if ((await statfs("/proc")).type !== PROC_MAGIC || uid === (await overflowUid())) {
      return undefined;
    }
    const owners = new PeerOwners({ uid });
    return (await ownerOfOwnConnection(owners)) === "same-user" ? owners : undefined;
  } catch {
    return undefined;
  }
}

/** The uid under which Linux shows users that have no number in this user namespace. */
async function overflowUid(): Promise<number> {
  await using handle = await open("/proc/sys/kernel/overflowuid");
  return Number(await handle.readFile("utf8"));
}

async function ownerOfOwnConnection(owners: PeerOwners): Promise<PeerOwner> {
  const server = createServer();
  const accepted = new Promise<Socket>((resolve, reject) => {
    server.once("connection", resolve);
    server.once("error", reject);
    server.listen({ host: "127.0.0.1", port: 0 });
  });

  server.once("listening", () => {
    client = connect((server.address() as AddressInfo).port, "127.0.0.1");
    client.on("error", () => {}); // the wait below ends by itself
  });

  let client: Socket | undefined;

  try {
    const late = (): Error => new Error(`no connection within ${LOOK_MS} ms`);
    const socket = await withTimeout(systemClock, LOOK_MS, late, () => accepted);
    const owner = await owners.of(socket);
    socket.destroy();
    return owner;
  } finally {
    client?.destroy();
    server.close();
  }
}

/**
 * Who listens at a port of 127.0.0.1 or ::1, so that a secret is not sent to another user's
 * program.
 */
export async function ownerOfListener(port: number): Promise<PeerOwner> {
  const uid = process.getuid?.();
  if (process.platform !== "linux" || uid === undefined) return "unknown";

  const found = new Set<number>();
  await eachRow((row) => {
    if (row.state === LISTEN && row.local.endsWith(`:${hexPort(port)}`)) found.add(row.uid);
  }).catch(() => {});
  if (found.size === 0) return "unknown";

  return [...found].every((one) => one === uid || one === 0) ? "same-user" : "other-user";
}

async function lookFor(wanted: Wanted): Promise<void> {
  await eachRow((row) => {
    // The row of a socket that its program has closed has no inode, and names root as its owner.
    if (row.state !== ESTABLISHED || row.inode === 0) return;

    const key = `${row.local} ${row.remote}`;
    wanted.get(key)?.(row.uid);
    wanted.delete(key);

    return wanted.size === 0;
  });
}

interface SocketRow {
  /** `<address>:<port>` in hexadecimal, IPv4 within IPv6 as IPv4. */
  readonly local: string;
  readonly remote: string;
  readonly state: string;
  readonly uid: number;
  readonly inode: number;
}

const ESTABLISHED = "01";
const LISTEN = "0A";

/** Calls with each row of both tables until it says `true`. */
async function eachRow(isEnough: (row: SocketRow) => boolean | void): Promise<void> {
  const late = (): Error => new Error(`the tables of connections took longer than ${LOOK_MS} ms`);
  await withTimeout(systemClock, LOOK_MS, late, async (signal) => {
    for (const table of TABLES) if (await eachRowOf(table, isEnough, signal)) return;
  });
}

/**
 * Reads in slices that the loop waits for, as Linux gives a page at a time: a table of a busy
 * machine has hundreds of pages, and a loop that is busy too would come back too late from each.
 */
async function eachRowOf(
  table: string,
  isEnough: (row: SocketRow) => boolean | void,
  signal: AbortSignal,
): Promise<boolean> {
  const file = openSync(table, "r");
  try {
    const buffer = Buffer.alloc(CHUNK_BYTES);
    let rest = "";
    let pages = 0;
    for (let total = 0; total < TABLE_BYTES;) {
      const bytesRead = readSync(file, buffer, 0, CHUNK_BYTES, null);
      if (bytesRead === 0) return false;
      total += bytesRead;
      const lines = (rest + buffer.toString("latin1", 0, bytesRead)).split("\n");
      rest = lines.pop()!.slice(0, LINE_BYTES);
      for (const line of lines) {
        const row = readRow(line);
        if (row && isEnough(row) === true) return true;
      }
      pages += 1;
      if (pages % PAGES_AT_ONCE === 0) await turnOfLoop(signal);
    }
    return false;
  } finally {
    closeSync(file);
  }
}

async function turnOfLoop(signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => void setImmediate(resolve));
  signal.throwIfAborted();
}

/**
 * `  12: 0100007F:A2C4 0100007F:11F8 01 … uid timeout inode …`. Source: proc(5),
 * net/ipv4/tcp_ipv4.c get_tcp4_sock.
 */
const ROW =
  /^ *\d+: ([0-9A-F]{8}|[0-9A-F]{32}):([0-9A-F]{4}) ([0-9A-F]{8}|[0-9A-F]{32}):([0-9A-F]{4}) ([0-9A-F]{2}) \S+ \S+ \S+ +(\d{1,10}) +\d+ (\d{1,20}) /;

/** One line of a table. Undefined for its title, and for what is no row. Pure. */
export function readRow(line: string): SocketRow | undefined {
  const match = ROW.exec(line);
  if (!match) return undefined;

  const [, local = "", localPort = "", remote = "", remotePort = "", state = "", uid, inode] =
    match;

  return {
    local: `${plain(local)}:${localPort}`,
    remote: `${plain(remote)}:${remotePort}`,
    state,
    uid: Number(uid),
    inode: Number(inode),
  };
}

/**
 * The client's row for a connection of the server: its own address first. Undefined for what is no
 * address. Pure.
 */
export function keyOf({
  remoteAddress,
  remotePort,
  localAddress,
  localPort,
}: Ends): string | undefined {
  const [client, server] = [hexAddress(remoteAddress), hexAddress(localAddress)];
  return client !== undefined && server !== undefined
    ? `${client}:${hexPort(remotePort)} ${server}:${hexPort(localPort)}`
    : undefined;
}

function hexPort(port: number): string {
  return port.toString(16).toUpperCase().padStart(4, "0");
}

/** ::ffff:0:0/96 as the table writes it: four words in the order of the machine. */
const MAPPED = `${"0".repeat(16)}${endianness() === "LE" ? "FFFF0000" : "0000FFFF"}`;

function plain(address: string): string {
  return address.length === 32 && address.startsWith(MAPPED)
    ? address.slice(MAPPED.length)
    : address;
}

function hexAddress(address: string): string | undefined {
  const [bare = ""] = address.replace(/^::ffff:(?=\d+\.)/i, "").split("%", 1);
  const bytes = bare.includes(":") ? bytesOf6(bare) : bytesOf4(bare);
  if (!bytes) return undefined;

  const words = Buffer.from(bytes);
  if (endianness() === "LE") words.swap32();

  return plain(words.toString("hex").toUpperCase());
}

function bytesOf4(address: string): number[] | undefined {
  const parts = address.split(".").map(Number);
  return parts.length === 4 &&
    parts.every((part) => Number.isInteger(part) && part >= 0 && part <= 255)
    ? parts
    : undefined;
}

function bytesOf6(address: string): number[] | undefined {
  const url = URL.parse(`http://[${address}]`);
  if (!url) return undefined;

  const [head = "", tail] = url.hostname.slice(1, -1).split("::");
  const [before, behind] = [head, tail ?? ""].map((side) =>
    side.split(":").filter((group) => group !== ""),
  ) as [string[], string[]];

  const groups = [
    ...before,
    ...Array<string>(8 - before.length - behind.length).fill("0"),
    ...behind,
  ];

  return groups.flatMap((group) => [
    Number.parseInt(group, 16) >> 8,
    Number.parseInt(group, 16) & 0xff,
  ]);
}
