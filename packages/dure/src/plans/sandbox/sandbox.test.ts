// @module-tag slow
import { spawn, spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  closeSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { getPriority, hostname, tmpdir } from "node:os";
import { createServer, type AddressInfo } from "node:net";
import path from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeEach, describe, expect, test } from "vitest";
import { FULL, sampled } from "../../kernel/test-tiers.ts";
import { systemClock } from "../../kernel/clock.ts";
import { beLate } from "../../kernel/test-late.ts";
import { codeOf } from "../../kernel/errors.ts";
import { silentLogger } from "../../kernel/logger.ts";
import { boundMs } from "../../kernel/test-bounds.ts";
import { absentWords } from "./absent.ts";
import { openConfiner } from "./confiner.ts";
import { countsPerNamespace, openControlGroups } from "./control-groups.ts";
import { UNPROVEN } from "./proof.ts";
import {
  endProcess,
  openSandbox,
  type Confinement,
  type IsolationKind,
  type WorkerIdentity,
  type Sandbox,
  type SandboxCommand,
  type SandboxLimits,
  openAudit,
} from "./sandbox.ts";

const PROTECTING = ["bubblewrap", "namespaces", "other-user"] as const;
const folder = mkdtempSync(path.join(realpathSync(tmpdir()), "dure-sandbox-"));
chmodSync(folder, 0o755);

const opened = new Map<IsolationKind, Sandbox>();
const unavailable = new Map<IsolationKind, string>();
for (const kind of PROTECTING) {
  try {
    opened.set(
      kind,
      await openSandbox({
        wanted: "enforced",
        kinds: [kind],
        folder: path.join(folder, "sandbox"),
        home: path.join(folder, "home"),
        clock: systemClock,
      }),
    );
  } catch (error) {
    unavailable.set(kind, String(error));
  }
}
const works = (program: string, ...args: readonly string[]): boolean =>
  spawnSync(program, args).status === 0;
const isRoot = process.getuid?.() === 0;
/** Comes before a command line that an unprivileged user runs. */
const asUser = isRoot ? ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"] : [];
const usersMayHaveNamespaces = works(
  "env",
  ...asUser,
  "unshare",
  "--user",
  "--map-root-user",
  "--mount",
  "true",
);
const protecting = [...opened.values()];
opened.set(
  "audit",
  await openSandbox({ wanted: "audit", folder: path.join(folder, "sandbox"), clock: systemClock }),
);
const ran = `ran: ${[...opened.keys()].join(", ")}; not here: ${[...unavailable.keys()].join(", ") || "none"}; namespaces for users: ${usersMayHaveNamespaces ? "yes" : "no"}`;

const HOST = fileURLToPath(new URL("test-host.ts", import.meta.url));

async function linesOf(
  host: ReturnType<typeof spawn>,
): Promise<readonly Record<string, unknown>[]> {
  const lines: Record<string, unknown>[] = [];
  for await (const line of createInterface({ input: host.stdout! })) {
    lines.push(JSON.parse(line) as Record<string, unknown>);
  }
  return lines;
}

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/**
 * A place with everything that an attack could go for; only `own` is owned. Its name is as bad as
 * names get.
 */
let base: string;
let count = 0;
const at = (...parts: string[]): string => path.join(base, ...parts);

beforeEach(() => {
  base = path.join(folder, `두레 it's, a:b\n${count++}`);
  mkdirSync(at("own/deep/er"), { recursive: true });
  for (const name of ["other", "secret", "own/secrets", "scratch"]) mkdirSync(at(name));
  for (const name of [
    "own/mine",
    "own/deep/er/kept",
    "other/file",
    "secret/key",
    "own/secrets/key",
  ]) {
    writeFileSync(at(name), `${name}\n`);
  }
  mkdirSync(path.join(folder, "home/.ssh"), { recursive: true });
  chmodSync(path.join(folder, "home/.ssh"), 0o700);
  writeFileSync(path.join(folder, "home/.ssh/id"), "private", { mode: 0o600 });
  writeFileSync(path.join(folder, "home/readme"), "public");
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

function confinement(more: Partial<Confinement> = {}): Confinement {
  return {
    cwd: base,
    writable: [at("own"), at("scratch")],
    readOnly: [at("own/deep/er/kept")],
    hidden: [at("secret"), at("own/secrets")],
    disposable: [],
    ...more,
  };
}

const LIMITS: SandboxLimits = {
  timeMs: 20_000,
  outputBytes: 1_000_000,
  fileBytes: 10_000_000,
  processes: 200,
};

function command(
  what: SandboxCommand["command"],
  more: Partial<SandboxCommand> = {},
  limits: Partial<SandboxLimits> = {},
): SandboxCommand {
  const env = {
    PATH: process.env["PATH"]!,
    HOME: at("scratch"),
    TMPDIR: at("scratch"),
    GIT_CONFIG_COUNT: "1",
    GIT_CONFIG_KEY_0: "safe.directory",
    GIT_CONFIG_VALUE_0: "*",
  };
  return { command: what, env, limits: { ...LIMITS, ...limits }, ...more };
}

/** Of a kind that protects nothing. */
const SETTING = {
  folder: path.join(folder, "sandbox"),
  home: undefined,
  allowSecrets: [],
  hidden: [],
  software: { places: [], links: [], variables: {} },
  network: { never: () => [] },
  memoryBytes: 300_000_000,
  cpus: 1,
  diskBytes: 30_000_000,
  user: undefined,
  clock: systemClock,
  logger: silentLogger,
};

/** Every path below with what it is, but for those that may change. */
function snapshot(of: string, except: readonly string[] = []): Readonly<Record<string, string>> {
  const found: Record<string, string> = {};
  const look = (place: string): void => {
    if (except.includes(place)) return;
    const entry = lstatSync(place);
    const what = entry.isSymbolicLink()
      ? `→ ${readlinkSync(place)}`
      : entry.isFile()
        ? readFileSync(place, "latin1")
        : "";
    found[path.relative(of, place)] =
      `${entry.mode.toString(8)} ${entry.uid} ${entry.nlink * Number(entry.isFile())} ${what}`;
    if (entry.isDirectory()) for (const name of readdirSync(place)) look(path.join(place, name));
  };
  look(of);
  return found;
}

/** Processes with the word on their command line, wherever they went. */
function withWord(word: string): readonly string[] {
  return readdirSync("/proc").filter((pid) => {
    try {
      return (
        /^\d+$/.test(pid) &&
        readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(word) &&
        !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, "utf8"))
      );
    } catch {
      return false;
    }
  });
}

const aWord = (): string => `${1_000 + count}.${process.pid}${Math.floor(Math.random() * 1e6)}`;

async function until(condition: () => boolean): Promise<void> {
  await beLate();
  for (const from = performance.now(); !condition();) {
    if (performance.now() - from > 15_000) throw new Error("it did not happen within 15 s");
    await systemClock.sleep(5);
  }
}

test(`at least one kind of isolation protects on this machine (${ran})`, () => {
  expect(protecting.length, [...unavailable.values()].join("\n")).toBeGreaterThan(0);
});

test("a kind that could run here does run: its absence would hide all its tests", () => {
  const could: Record<(typeof PROTECTING)[number], boolean> = {
    bubblewrap: works(
      "bwrap",
      "--unshare-user",
      "--unshare-pid",
      "--unshare-net",
      "--ro-bind",
      "/",
      "/",
      "--proc",
      "/proc",
      "true",
    ),
    namespaces: works(
      "unshare",
      "--user",
      "--map-root-user",
      "--mount",
      "--pid",
      "--net",
      "--fork",
      "--mount-proc",
      "true",
    ),
    "other-user": isRoot && works("setpriv", "--version") && works("unshare", "--net", "true"),
  };

  expect(
    PROTECTING.filter((kind) => could[kind] && !opened.has(kind)),
    [...unavailable.values()].join("\n"),
  ).toEqual([]);
});

test("a confinement that fails is made once more, then told; a command that began is never begun again", async () => {
  const audit = openAudit(SETTING);
  let made = 0;
  /** As when the machine's mounts change between our look at them and our own. */
  const failing = (times: number, argv: readonly string[]): Sandbox =>
    openConfiner(
      {
        kind: "audit",
        enclose: async (...given) =>
          made++ < times ? { ...(await audit.enclose(...given)), argv } : audit.enclose(...given),
      },
      SETTING,
      UNPROVEN,
    );
  const refused = ["/bin/sh", "-c", "echo 'mount: wrong fs type' >&2; exit 32"];
  const began = at("scratch/began");

  const second = await failing(1, refused).run(
    confinement(),
    command(`echo x >> '${began.replaceAll("'", "'\\''")}'`),
  );
  expect([second.exitCode, made, readFileSync(began, "utf8")]).toEqual([0, 2, "x\n"]);
  made = 0;
  await expect(failing(9, refused).run(confinement(), command("true"))).rejects.toMatchObject({
    code: "SANDBOX_FAILED",
    message: expect.stringContaining("wrong fs type") as string,
  });
  expect(made).toBe(2);
  made = 0;
  await expect(
    failing(0, refused).run(confinement(), command(["no-such-program"])),
  ).rejects.toMatchObject({ code: "SANDBOX_COMMAND_MISSING" });
  expect(made).toBe(1);
});

/**
 * What a worker might do to get out. Each is a real program; none may change anything but what is
 * owned.
 */
const ATTACKS: Readonly<Record<string, string>> = {
  "a path that climbs out": `echo bad > own/../other/file; echo bad > ../escaped; echo bad > own/deep/../../other/new`,
  "an absolute path": `echo bad > "$PWD/other/file"; echo bad > /etc/escaped; echo bad > /usr/escaped`,
  "a symbolic link out of what is owned": `ln -s ../other/file own/link; echo bad > own/link; ln -s .. own/up; echo bad > own/up/other/new; cp own/mine own/up/other/copied`,
  "a folder replaced by a link": `mv own/deep own/away; rm -rf own/deep; ln -s ../other own/deep; mkdir -p own/deep/er; echo bad > own/deep/er/kept; echo bad > own/deep/file`,
  "a rename over what is not owned": `echo bad > own/new; mv -f own/new other/file; mv -f own/mine own/deep/er/kept; mv -f own other; mv -f other own/other`,
  "a rename of the folder around what is kept": `mv own/deep/er own/deep/aside; mv own/deep own/aside; mkdir -p own/deep/er; echo bad > own/deep/er/kept`,
  "a hard link into what is owned": `ln other/file own/hard; echo bad >> own/hard; ln own/deep/er/kept own/hard2; echo bad >> own/hard2`,
  removing: `rm -rf other own/deep/er/kept secret; rmdir own/secrets; unlink own/deep/er/kept`,
  "modes, times and owners": `chmod 777 other other/file own/deep/er/kept .; chown 1 other/file; touch -d 2001-01-01 other/file; chattr +i other/file; setfattr -n user.x -v 1 other/file; truncate -s 0 other/file`,
  mounting: `mount -o remount,rw /; mount -o remount,bind,rw "$PWD/own/deep/er/kept"; umount "$PWD/own/deep/er/kept"; umount -l "$PWD/secret"; umount -l /; mount --bind own other; mount -t tmpfs none other; echo bad > own/deep/er/kept; echo bad > other/file`,
  "namespaces of its own": `unshare --user --map-root-user --mount sh -c '
      mount -o remount,rw /; mount -o remount,bind,rw "$PWD"; mount -o remount,bind,rw "$PWD/own/deep/er/kept"; umount "$PWD/own/deep/er/kept"; umount -l "$PWD/secret"; umount -l /proc
      echo bad > own/deep/er/kept; echo bad > other/file; cat secret/key; mkdir own/m; mount --rbind / own/m; mount -o remount,bind,rw own/m; echo bad > "own/m/$PWD/other/file"; chroot own/m sh -c "echo bad > /etc/escaped"'`,
  "devices and raw disks": `disk=$(awk '$5 == "/" {print $3}' /proc/self/mountinfo); mknod own/disk b \${disk%:*} \${disk#*:} && head -c 1 own/disk && echo READ-THE-DISK; for d in /dev/vda /dev/sda /dev/nvme0n1 /dev/mem; do head -c 1 $d && echo READ-THE-DISK; done; truncate -s 1M own/img; losetup -f own/img && echo READ-THE-DISK; debugfs -R stats /dev/vda | grep -q Inode && echo READ-THE-DISK`,
  "the processes around it": `tr '\\0' '\\n' </proc/1/environ | grep -q VITEST && echo SAW-ANOTHER; for place in /proc/1/root /proc/1/cwd /proc/$DURE/root /proc/$DURE/cwd /proc/$PPID/root; do echo bad > "$place$PWD/other/file"; done; ls /proc/$DURE/fd && echo SAW-ANOTHER; kill -9 $DURE && echo KILLED; kill -9 1; nsenter --target 1 --mount --user true && echo SAW-ANOTHER; nsenter --target $DURE --mount true && echo SAW-ANOTHER; dd if=/dev/zero of=/proc/$DURE/mem count=1 && echo SAW-ANOTHER`,
  "the controls of the machine": `for f in /proc/sys/kernel/core_pattern /proc/sys/kernel/modprobe /proc/sys/vm/swappiness /proc/sysrq-trigger /sys/kernel/uevent_helper /sys/fs/cgroup/pids/cgroup.procs /sys/fs/cgroup/cgroup.procs; do [ -e $f ] && dd if=/dev/null of=$f 2>/dev/null conv=notrunc && echo OPENED $f; done; true`,
  "git of the user's repository": `cd user && { echo 'exit 0' > .git/hooks/pre-commit; git config core.fsmonitor /bin/false; git config --global core.hooksPath /; git gc --prune=now; git worktree remove --force ../other; git update-ref -d HEAD; git commit --allow-empty -m bad; git reset --hard HEAD~1; git branch bad; git stash; rm -rf .git; echo bad > ../user/file; }`,
};

/** A repository of two commits with a change that is in none, made once; each attack has a copy. */
const USER_REPOSITORY = path.join(folder, "user");
{
  const git = (...args: string[]): void => {
    const result = spawnSync(
      "git",
      ["-c", "user.name=a", "-c", "user.email=a@b", "-C", USER_REPOSITORY, ...args],
      { encoding: "utf8" },
    );
    if (result.status !== 0) throw new Error(result.stderr);
  };
  mkdirSync(USER_REPOSITORY);
  git("init", "-q");
  for (const text of ["one", "two"]) {
    writeFileSync(path.join(USER_REPOSITORY, "file"), text);
    git("add", ".");
    git("commit", "-qm", text);
  }
  writeFileSync(path.join(USER_REPOSITORY, "file"), "not yet committed");
}

/** One of them in each quick run, which a number of the run chooses; all in the others. */
const KINDS = sampled(
  protecting.map((sandbox) => ({ kind: sandbox.kind, sandbox })),
  1,
);

describe.each(KINDS.rows)("$kind", KINDS.options, ({ kind, sandbox }) => {
  test.each(Object.entries(ATTACKS))(
    "changes nothing but what is owned: %s",
    async (name, script) => {
      cpSync(USER_REPOSITORY, at("user"), { recursive: true });
      const mayChange = [at("own"), at("scratch")];
      const before = snapshot(base, mayChange);
      const kept = readFileSync(at("own/deep/er/kept"), "utf8");

      const end = await sandbox.run(
        confinement(),
        command(`export DURE=${process.pid}; ${script}\necho survived`, {}),
      );

      expect(snapshot(base, mayChange)).toEqual(before);
      if (existsSync(at("own/deep/er"))) {
        expect(readFileSync(at("own/deep/er/kept"), "utf8")).toBe(kept);
      }
      expect(readFileSync(at("own/secrets/key"), "utf8")).toBe("own/secrets/key\n");
      for (const place of ["/etc/escaped", "/usr/escaped", path.join(folder, "escaped")]) {
        expect(existsSync(place), place).toBe(false);
      }
      expect(end.output, name).not.toMatch(/READ-THE-DISK|SAW-ANOTHER|KILLED|OPENED/);
      expect(end.output, "the attack ran to its end").toContain("survived");
      expect(lstatSync(at("own/deep/er/kept")).isFile(), "what is kept is where it was").toBe(true);
    },
  );

  test("shows what is not named, writes what is owned, hides what is hidden, keeps what is kept", async () => {
    const end = await sandbox.run(
      confinement(),
      command(
        `cat other/file own/mine own/deep/er/kept; ls -A secret own/secrets; cat secret/key own/secrets/key; echo new > own/new; mkdir own/dir; echo s > scratch/s; echo t > "$TMPDIR/t"; rm own/mine`,
      ),
    );

    expect(end.output).toContain("other/file\nown/mine\nown/deep/er/kept");
    expect(end.output).not.toMatch(/^(secret|own\/secrets)\/key$/m);
    expect(readFileSync(at("own/new"), "utf8")).toBe("new\n");
    expect(statSync(at("own/dir")).isDirectory()).toBe(true);
    expect(existsSync(at("own/mine"))).toBe(false);
    expect(readdirSync(at("scratch")).toSorted()).toEqual(["s", "t"]);
    expect(readFileSync(at("own/secrets/key"), "utf8")).toBe("own/secrets/key\n");
  });

  test("shows of the home folder what a rule names, without the secrets in it", async () => {
    const home = path.join(folder, "home");
    const ask = command(["cat", path.join(home, "readme"), path.join(home, ".ssh/id")]);

    const named = await sandbox.run(confinement({ shown: [home] }), ask);
    const unnamed = await sandbox.run(confinement(), ask);

    expect(named.output).toContain("public");
    // Another user on a copy reads what its mode allows.
    expect(unnamed.output.includes("public")).toBe(kind === "other-user");
    for (const { output } of [named, unnamed]) expect(output).not.toContain("private");
  });

  test("lends an allowed secret, of which root's worker gets a copy that ends with the process", async () => {
    const secrets = path.join(folder, "home/.ssh");
    const other = path.join(folder, "home/.aws");
    mkdirSync(other, { recursive: true, mode: 0o700 });
    writeFileSync(path.join(other, "key"), "covered", { mode: 0o600 });
    const before = snapshot(secrets);
    const lending = await openSandbox({
      wanted: "enforced",
      kinds: PROTECTING.filter((one) => one === kind),
      folder: path.join(folder, "sandbox"),
      home: path.join(folder, "home"),
      allowSecrets: [".ssh"],
      clock: systemClock,
    });

    const end = await lending.run(
      confinement(),
      command(`cd '${secrets}' && cat id && stat -c %u id; cat '${other}/key'; echo bad > id`),
    );
    const left = readdirSync(path.join(folder, "sandbox"));

    // Another user on a copy reads what its mode allows, and nothing of this is lent to it.
    const lent = kind === "other-user" ? null : `private${lending.promises.user}`;
    expect(/^private\d+$/m.exec(end.output)?.[0] ?? null, end.output).toBe(lent);
    expect(end.output).not.toContain("covered");
    expect(snapshot(secrets)).toEqual(before);
    expect(left.filter((name) => name.startsWith("p-"))).toEqual([]);
  });

  test("opens an owned folder inside a hidden one again", async () => {
    chmodSync(base, 0o700); // another user sees what is open to all: then the sandbox refuses to start
    const hidden = confinement({ hidden: [base, at("own/secrets")], cwd: at("own") });

    const end = await sandbox.run(
      hidden,
      command(`echo new > new; cat ../other/file; cat secrets/key; true`),
    );

    expect(end.output).not.toMatch(/^(other\/file|own\/secrets\/key)$/m);
    expect(readFileSync(at("own/new"), "utf8")).toBe("new\n");
  });

  test("forgets what was written to a disposable folder, also removed folders, and keeps what is owned in it", async () => {
    mkdirSync(at("tree/own"), { recursive: true });
    mkdirSync(at("tree/lib/a"), { recursive: true });
    writeFileSync(at("tree/lib/a/file"), "before");
    const disposable = confinement({
      cwd: at("tree"),
      writable: [at("tree/own")],
      readOnly: [],
      hidden: [],
      disposable: [at("tree")],
    });
    await sandbox.run(disposable, command("true")); // as root it is given to the user of the process
    const before = snapshot(at("tree"), [at("tree/own")]);

    const end = await sandbox.run(
      disposable,
      command(
        `rm -r lib && mkdir -p lib/a && echo after > lib/a/file && cat lib/a/file; echo built > out; echo stays > own/result`,
      ),
    );

    expect(end).toMatchObject({ exitCode: 0, output: "after\n" });
    expect(snapshot(at("tree"), [at("tree/own")])).toEqual(before);
    expect(readFileSync(at("tree/own/result"), "utf8")).toBe("stays\n");
  });

  test("keeps 300 files of an owned folder", async () => {
    const names = Array.from({ length: 300 }, (_, index) => at("own", `kept ${index}`));
    for (const name of names) writeFileSync(name, "before");

    const end = await sandbox.run(
      confinement({ readOnly: names }),
      command(
        `for f in own/kept*; do { echo bad > "$f"; } 2>/dev/null; done; rm -f own/kept*; mv -f own/mine 'own/kept 7'; echo good > own/free`,
      ),
    );

    expect(end.because).toBe("exited");
    expect(names.filter((name) => readFileSync(name, "utf8") !== "before")).toEqual([]);
    expect(readFileSync(at("own/free"), "utf8")).toBe("good\n");
  });

  test("bounds how many processes run at a time, where the system counts them", async () => {
    const isBounded =
      kind === "other-user" ||
      openControlGroups().boundsProcesses ||
      countsPerNamespace(process.getuid?.());

    const end = await sandbox.run(
      confinement(),
      command(
        `for i in $(seq 60); do sleep 5 & echo started; done; kill $(jobs -p)`,
        {},
        { processes: 20 },
      ),
    );

    expect((end.output.match(/^started$/gm) ?? []).length <= 20).toBe(isBounded);
  });

  test("reaches nothing of the host's network, whatever its policy, and itself all the same", async () => {
    const server = createServer((socket) => void socket.end("hello"));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const script = `const net = require("node:net");
      net.connect(${port}, "127.0.0.1").on("connect", () => console.log("host reached")).on("error", (error) => console.log(error.code));
      const own = net.createServer((socket) => socket.end()).listen(0, "127.0.0.1", () => net.connect(own.address().port, "127.0.0.1").on("connect", () => { console.log("itself reached"); own.close(); }));`;

    const ends = [];
    for (const policy of [undefined, { kind: "open", hosts: [] } as const]) {
      ends.push(
        await sandbox.run(confinement({ network: policy }), command(["node", "-e", script])),
      );
    }
    server.close();

    const refused = expect.stringMatching(
      /^(ECONNREFUSED\nitself reached|itself reached\nECONNREFUSED)\n$/,
    ) as string;
    expect(ends.map(({ output }) => output)).toEqual([refused, refused]);
  });

  test.runIf(isRoot)(
    "runs as a user that is not root to the kernel and can read no file of the system's secrets",
    async () => {
      const process = await sandbox.spawn(
        confinement(),
        command(`cat /etc/shadow; echo started; read -r go; echo x > own/made`),
      );
      let said = "";
      for (const stream of [process.stdout, process.stderr]) {
        stream.on("data", (chunk: Buffer) => void (said += chunk.toString()));
      }
      await until(() => said.includes("started"));

      const users = withWord("read -r go").map((pid) =>
        /^Uid:\s+(\d+)\s+(\d+)/m
          .exec(readFileSync(`/proc/${pid}/status`, "utf8"))!
          .slice(1, 3)
          .map(Number),
      );
      process.stdin.end("go\n");
      await process.ended;

      expect(users.length).toBeGreaterThan(0);
      for (const [real, effective] of users) {
        expect([real! >= 60_578 && real! <= 61_183, real === effective]).toEqual([true, true]);
      }
      expect(said).not.toMatch(/root:/);
      expect(sandbox.promises).toEqual({
        network: "enforced",
        user: kind === "other-user" ? (expect.any(Number) as number) : users[0]![0],
        isOtherUser: true,
        files: kind === "other-user" ? "by-modes" : "enforced",
        memory: openControlGroups().boundsMemory ? "group" : "watched",
        cpu: openControlGroups().boundsCpu ? "group" : "yields",
      });
      expect(readFileSync(at("own/made"), "utf8")).toBe("x\n");
    },
  );

  test("works the same for an unprivileged user, or says why it cannot", async () => {
    const own = mkdtempSync(path.join(realpathSync(tmpdir()), "dure-other-"));
    for (const name of ["own", "other"]) mkdirSync(path.join(own, name));
    for (const name of ["own/kept", "other/file"]) writeFileSync(path.join(own, name), "before");
    if (isRoot) spawnSync("chown", ["-R", "65534:65534", own]);
    const order = {
      open: { wanted: "enforced", kinds: [kind], folder: path.join(own, "sandbox") },
      confinement: {
        cwd: own,
        writable: [path.join(own, "own")],
        readOnly: [path.join(own, "own/kept")],
        hidden: [],
        disposable: [path.join(own, "other")],
      },
      command: command(
        `echo vanishes > other/file; echo bad > own/kept; mount -o remount,bind,rw "$PWD/own/kept"; unshare -rm sh -c 'umount own/kept; mount -o remount,bind,rw .; echo bad > own/kept; echo bad > outside'; echo bad > outside; echo good > own/new; for i in $(seq 60); do sleep 5 & echo started; done 2>/dev/null`,
        {},
        { processes: 20 },
      ),
    };

    const lines = await linesOf(
      spawn("env", [...asUser, "node", "--conditions=dure-source", HOST, JSON.stringify(order)], {
        stdio: ["ignore", "pipe", "inherit"],
      }),
    );
    const after = snapshot(own, [path.join(own, "sandbox")]);
    const last = lines.at(-1)!;
    rmSync(own, { recursive: true, force: true });

    if (kind === "other-user" || !usersMayHaveNamespaces) {
      expect(last["error"]).toMatch(/ISOLATION_UNAVAILABLE|Tried/);
    } else {
      expect(last, JSON.stringify(lines)).toMatchObject({ kind, end: { because: "exited" } });
      expect(Object.keys(after).toSorted()).toEqual([
        "",
        "other",
        "other/file",
        "own",
        "own/kept",
        "own/new",
      ]);
      for (const name of ["own/kept", "other/file"]) expect(after[name]).toMatch(/ before$/);
      expect(
        ((last["end"] as { output: string }).output.match(/^started$/gm) ?? []).length,
      ).toBeLessThanOrEqual(20);
    }
  });

  test("refuses an owned path that leads elsewhere through a link", async () => {
    symlinkSync(at("other"), at("link"));

    const refused = sandbox.run(
      confinement({ writable: [at("link")], readOnly: [] }),
      command(["true"]),
    );

    await expect(refused).rejects.toMatchObject({ code: "SANDBOX_PATH_NOT_REAL" });
  });

  test("gives no descriptor of ours to the command", async () => {
    const order = {
      open: { wanted: "enforced", kinds: [kind], folder: path.join(folder, "sandbox") },
      confinement: confinement({ hidden: [] }),
      command: command(
        `ls /proc/self/fd | tr '\\n' ' '; sh -c 'echo bad >&9'; bash -c 'echo bad >&57' || echo closed`,
      ),
    };
    const target = openSync(at("other/file"), "a");
    const host = spawn(
      "bash",
      [
        "-c",
        `exec 7>>"$0" 9>>"$0" 57>>"$0"; exec node --conditions=dure-source "$1" "$2"`,
        at("other/file"),
        HOST,
        JSON.stringify(order),
      ],
      { stdio: ["ignore", "pipe", "inherit", target] },
    );
    closeSync(target);

    const lines = await linesOf(host);

    expect(lines.at(-1)).toMatchObject({ end: { exitCode: 0 } });
    expect(readFileSync(at("other/file"), "utf8")).toBe("other/file\n");
  });
});

const MOUNTING = sampled(
  protecting.filter(({ kind }) => kind !== "other-user").map(({ kind }) => kind),
  1,
);
test.each(MOUNTING.rows)(
  "%s works where something is mounted below /tmp, and keeps it from being written",
  MOUNTING.options,
  async (kind) => {
    mkdirSync(at("mounted"));
    const order = {
      open: { wanted: "enforced", kinds: [kind], folder: path.join(folder, "sandbox") },
      confinement: confinement({ hidden: [], disposable: [at("other")] }),
      command: command(
        `cat mounted/file; echo bad > mounted/file || echo refused; echo vanishes > other/file; echo new > /tmp/"$$".new && cat /tmp/"$$".new; echo good > own/new; ls -d "$PWD"`,
      ),
    };
    const host = spawn(
      "unshare",
      [
        ...(isRoot ? [] : ["--user", "--map-root-user"]),
        "--mount",
        "sh",
        "-c",
        `mount -t tmpfs -o size=1m tiny "$0" && echo inside > "$0"/file && exec node --conditions=dure-source "$1" "$2"`,
        at("mounted"),
        HOST,
        JSON.stringify(order),
      ],
      { stdio: ["ignore", "pipe", "inherit"] },
    );

    const lines = await linesOf(host);

    const { end } = lines.at(-1) as { end?: { exitCode: number; output: string } };
    expect(end, JSON.stringify(lines)).toMatchObject({
      exitCode: 0,
      output: expect.stringMatching(/^inside\n[^]*refused\nnew\n/) as string,
    });
    expect([readFileSync(at("own/new"), "utf8"), readFileSync(at("other/file"), "utf8")]).toEqual([
      "good\n",
      "other/file\n",
    ]);
  },
);

test.each(MOUNTING.rows)(
  "%s: a program may ask what its user is called",
  MOUNTING.options,
  async (kind) => {
    const ask = `id -un && id -gn && "$0" -p 'os.userInfo().username'`;

    const end = await opened
      .get(kind)!
      .run(confinement(), command(["sh", "-c", ask, process.execPath]));

    expect(end).toMatchObject({ exitCode: 0 });
    if (isRoot) expect(end.output).toBe("dure-worker\n".repeat(3));
  },
);

test.each(MOUNTING.rows)(
  "%s: a failed command says which of its paths are on the machine and not to be seen",
  MOUNTING.options,
  async (kind) => {
    const sandbox = opened.get(kind)!;
    const elsewhere = path.join(folder, "home/readme");
    const run = (command: string, shown: readonly string[] = []) =>
      sandbox.run(confinement({ shown }), {
        command,
        env: { PATH: "/usr/bin:/bin" },
        limits: LIMITS,
      });

    const failed = await run(`/bin/cat ${elsewhere} /no/such/file`);
    const seen = await run(`cat ${elsewhere}; exit 3`, [path.dirname(elsewhere)]);

    expect(failed).toMatchObject({ exitCode: 1, absent: [elsewhere] });
    expect([seen.exitCode, seen.absent]).toEqual([3, undefined]);
    expect(absentWords(failed)).toContain(`do not see ${elsewhere}: put its folder on`);
    await expect(
      sandbox.run(confinement(), command([`${folder}/home/readme`])),
    ).rejects.toMatchObject({
      code: "SANDBOX_COMMAND_MISSING",
      hint: expect.stringContaining(elsewhere) as string,
    });
  },
);

/** Takes 20 MB each 5 ms, in three processes, and fills what it takes. */
const BOMB = `
const { spawn } = require("node:child_process");
const taken = [];
if (process.argv[1] !== "child") {
  for (let more = 0; more < 2; more++) spawn(process.execPath, ["-e", process.argv[2], "child"]);
}
setInterval(() => {
  if (taken.length > 60) process.exit(9); // it was let do so: enough to see
  taken.push(Buffer.alloc(20_000_000, 1));
}, 5);
`;
const MOST = 300_000_000;

test.each(MOUNTING.rows)(
  "%s: processes that take more memory than a worker may are ended, and say how much that was",
  MOUNTING.options,
  async (kind) => {
    const order = (own: string): object => ({
      open: {
        wanted: "enforced",
        kinds: [kind],
        folder: path.join(own, "sandbox"),
        memoryBytes: MOST,
      },
      confinement: { cwd: own, writable: [], readOnly: [], hidden: [], disposable: [] },
      command: command([process.execPath, "-e", BOMB, "first", BOMB]),
    });
    const host = async (before: readonly string[], user: number): Promise<unknown> => {
      const own = mkdtempSync(path.join(realpathSync(tmpdir()), "dure-bomb-"));
      if (isRoot) chownSync(own, user, user);
      chmodSync(own, 0o755);
      const node = ["node", "--conditions=dure-source", HOST, JSON.stringify(order(own))];
      const lines = await linesOf(
        spawn("env", [...before, ...node], { stdio: ["ignore", "pipe", "inherit"] }),
      );
      rmSync(own, { recursive: true, force: true });
      return lines.at(-1);
    };

    const asRoot = isRoot ? await host([], 0) : undefined;
    const asOrdinary = usersMayHaveNamespaces ? await host(asUser, 65_534) : undefined;

    const ended = { kind, end: { because: "memory", exitCode: null, mostBytes: MOST } };
    const asked = [asRoot, asOrdinary].filter((last) => last !== undefined);
    expect(asked).toMatchObject(asked.map(() => ended));
  },
);

test("memory is watched where the machine has no control groups for it", async () => {
  const none = { boundsProcesses: false, boundsMemory: false, boundsCpu: false };
  const group = { enter: [], hasRunOut: () => false, remove: () => {} };
  const audit = openConfiner(openAudit(SETTING), SETTING, UNPROVEN, { ...none, open: () => group });

  const bomb = await audit.run(
    confinement(),
    command([process.execPath, "-e", BOMB, "first", BOMB]),
  );
  const bounds = await audit.run(confinement(), command("ulimit -d; nice"));

  expect(bomb).toMatchObject({ because: "memory", mostBytes: MOST });
  const kilobytes = Math.ceil((MOST + 1_073_741_824) / 1_024);
  expect(bounds.output).toBe(`${kilobytes}\n${Math.min(getPriority() + 10, 19)}\n`);
});

/** Writes 100 MB in files of their own, and stays. */
const FLOOD = `
  i=0; while [ $i -lt 20 ]; do i=$((i+1)); head -c 5000000 /dev/zero > "$1/more-$i" || exit 9; done
  exec sleep 60
`;

/** A busy machine looks late at what is written. */
const PATIENT = { timeMs: 60_000 };

const FLOODED = sampled(
  protecting.map(({ kind }) => kind),
  1,
);
test.each(FLOODED.rows)(
  "%s: a tree that writes more than it may is ended, and says how much that was",
  { ...FLOODED.options, timeout: 180_000 },
  async (kind) => {
    const sandbox = await openSandbox({
      wanted: "enforced",
      kinds: [kind as (typeof PROTECTING)[number]],
      folder: path.join(folder, `flood-${kind}`),
      diskBytes: 30_000_000,
      clock: systemClock,
    });
    const where = confinement({ disposable: [at("other")] });
    const flood = (name: string): Promise<object> =>
      sandbox.run(where, command(["sh", "-c", FLOOD, "sh", at(name)], {}, PATIENT));

    const ends = [await flood("own"), await flood("other")];
    const small = await sandbox.run(confinement(), command("sleep 1.5; echo x > own/small"));

    const over = { because: "disk", exitCode: null, mostBytes: 30_000_000 };
    expect(ends).toMatchObject([over, over]);
    // What was there before does not count.
    expect(small).toMatchObject({ because: "exited", exitCode: 0 });
  },
);

test.runIf(openControlGroups().boundsCpu)(
  "a tree gets no more of the machine's CPU time than it may, by the kernel's word",
  async () => {
    const audit = openConfiner(openAudit(SETTING), { ...SETTING, cpus: 0.5 }, UNPROVEN);
    const tree = await audit.spawn(confinement(), command("read -r go"));
    const lines = readFileSync(`/proc/${tree.identity.pid}/cgroup`, "utf8").trim().split("\n");
    const groups = lines.map((line) => /^\d+:(.*?):\/(.*)$/.exec(line)!.slice(1, 3));
    const first = groups.find(([names]) => names!.split(",").includes("cpu"));
    const group = path.join("/sys/fs/cgroup", first ? `cpu/${first[1]}` : groups.at(-1)![1]!);
    const said = (name: string): string => readFileSync(path.join(group, name), "utf8").trim();

    const most = first
      ? `${said("cpu.cfs_quota_us")} ${said("cpu.cfs_period_us")}`
      : said("cpu.max");
    await tree.kill();

    expect(most).toBe("50000 100000");
  },
);

const TREES = sampled(
  [...opened.values()].map((sandbox) => ({ kind: sandbox.kind, sandbox })),
  2,
);
describe.each(TREES.rows)("$kind: a process tree", TREES.options, ({ kind, sandbox }) => {
  test(
    "that is over at once has begun and said what it said, among many others",
    { ...FULL, timeout: 120_000 },
    async () => {
      // They share a folder: what one brings back would change under the other's copy.
      const onlyReads = confinement({ writable: [], readOnly: [] });
      const said: string[] = [];
      const oneByOne = async (count: number): Promise<void> => {
        for (let left = count; left > 0; left--) {
          said.push(
            await sandbox.run(onlyReads, command("echo said")).then(({ output }) => output, String),
          );
        }
      };

      const rounds = kind === "bubblewrap" ? 1 : 6;
      await Promise.all(Array.from({ length: 12 }, () => oneByOne(rounds)));

      expect(said).toEqual(Array.from({ length: 12 * rounds }, () => "said\n"));
    },
  );

  test("gives exit code, output in its order, input and exactly the environment that was handed in", async () => {
    const env = {
      PATH: process.env["PATH"]!,
      ODD: "it's\n$HOME \\ 한글",
      "npm_config_//x:_auth": "1",
      UID: "7",
      LD_LIBRARY_PATH: "/nowhere",
    };

    const end = await sandbox.run(
      confinement(),
      command(["sh", "-c", "cat; echo err >&2; echo out; exit 3"], { env, input: "in\n" }),
    );
    const variables = await sandbox.run(confinement(), command(["/usr/bin/env", "-0"], { env }));

    expect(end).toEqual({
      exitCode: 3,
      signal: null,
      because: "exited",
      outputTruncated: false,
      output: "in\nerr\nout\n",
    });
    const seen = Object.fromEntries(
      variables.output
        .split("\0")
        .filter(Boolean)
        .map((variable) => variable.split(/=([^]*)/).slice(0, 2) as [string, string]),
    );
    expect(seen).toEqual({
      ...env,
      DURE_SANDBOX: expect.stringMatching(/^\d+-\d+$/),
      PWD: expect.any(String),
    });
  });

  test("tells a signal that ended it", async () => {
    const end = await sandbox.run(confinement(), command("kill -SEGV $$"));

    expect(end).toMatchObject({ exitCode: 139, signal: "SIGSEGV", because: "exited" });
  });

  test("says that a program or the working folder is missing", async () => {
    await expect(sandbox.run(confinement(), command(["no-such-program"]))).rejects.toMatchObject({
      code: "SANDBOX_COMMAND_MISSING",
    });
    await expect(
      sandbox.run(confinement({ cwd: at("nowhere") }), command(["true"])),
    ).rejects.toMatchObject({ code: "SANDBOX_CWD_MISSING" });
    expect(
      readdirSync(path.join(folder, "sandbox")).filter((name) =>
        name.startsWith(`p-${process.pid}-`),
      ),
    ).toEqual([]);
  });

  test("is gone with its first process: a child in a session of its own, one without its environment", async () => {
    const word = aWord();
    const marked = kind === "audit" ? "" : `env -i setsid /bin/sleep ${word} & `; // nothing but the environment leads to it there

    const end = await sandbox.run(
      confinement(),
      command(
        `setsid sh -c 'sleep ${word}; echo late > own/late' & setsid setsid sleep ${word} & ${marked} (trap '' TERM HUP; sleep ${word}) & sleep 0.2; echo done`,
      ),
    );

    expect(end).toMatchObject({ exitCode: 0, output: "done\n" });
    expect(withWord(word)).toEqual([]);
  });

  test("ends at its time limit, also when it ignores SIGTERM", async () => {
    const word = aWord();

    const end = await sandbox.run(
      confinement(),
      command(
        `trap '' TERM; setsid sh -c "trap '' TERM; sleep ${word}; sleep ${word}" & sleep ${word}; sleep ${word}`,
        {},
        { timeMs: 300 },
      ),
    );

    expect(end).toMatchObject({ because: "time", exitCode: null });
    expect(withWord(word)).toEqual([]);
  });

  test("may end by itself within a second after it was asked to", async () => {
    const process = await sandbox.spawn(
      confinement(),
      command(`trap 'echo asked; exit 0' TERM; echo ready; while :; do sleep 0.05; done`),
    );
    let heard = "";
    process.stdout.on("data", (chunk: Buffer) => void (heard += chunk.toString()));
    await until(() => heard.includes("ready"));

    await process.kill();

    expect(heard).toContain("asked");
    expect(await process.ended).toMatchObject({ because: "aborted" });
  });

  test("is gone within 2 s after an abort, a fork bomb included", async () => {
    const word = aWord();
    const controller = new AbortController();
    let started = false;
    const running = sandbox.run(
      confinement(),
      command(
        `trap '' TERM; bomb() { trap '' TERM; sleep ${word} & [ $1 -gt 0 ] && { bomb $(($1 - 1)) & bomb $(($1 - 1)) & setsid sleep ${word} & }; sleep ${word}; }; echo go; bomb 4`,
      ),
      { signal: controller.signal, onOutput: () => (started = true) },
    );
    await until(() => started && withWord(word).length > 10);

    const from = performance.now();
    controller.abort();
    const end = await running;

    expect(performance.now() - from).toBeLessThan(boundMs(2_000));
    expect(end.because).toBe("aborted");
    expect(withWord(word)).toEqual([]);
  });

  test("ends when it floods; head and tail of what it said are kept", async () => {
    const end = await sandbox.run(
      confinement(),
      command("echo first; yes 0123456789", {}, { outputBytes: 100_000 }),
    );

    expect(end).toMatchObject({ because: "output", outputTruncated: true });
    expect(end.output.startsWith("first\n0123456789\n")).toBe(true);
    expect(end.output.length).toBeLessThanOrEqual(100_000);
  });

  test("cannot write a huge file", async () => {
    const end = await sandbox.run(
      confinement(),
      command(
        "head -c 5000000 /dev/zero > own/huge; echo $?; ls -l own/huge | awk '{print $5}'",
        {},
        { fileBytes: 1_048_576 },
      ),
    );

    expect(end.output).toMatch(/^(153|1)\n1048576\n$|File size limit exceeded[^]*1048576/);
  });

  test("does not start before its identity was stored, nor when that fails", async () => {
    const seen: WorkerIdentity[] = [];
    const onStart = async (identity: WorkerIdentity): Promise<void> => {
      await systemClock.sleep(30);
      expect(existsSync(at("own/started"))).toBe(false);
      seen.push(identity);
    };

    const process = await sandbox.spawn(confinement(), command("echo x > own/started; sleep 0.1"), {
      onStart,
    });
    await process.ended;
    const refused = sandbox.spawn(confinement(), command("echo x > own/again"), {
      onStart: async () => Promise.reject(new Error("no database")),
    });

    await expect(refused).rejects.toThrow("no database");
    expect(seen).toEqual([process.identity]);
    expect(process.identity).toMatchObject({ host: hostname(), groupId: process.identity.pid });
    expect(existsSync(at("own/started"))).toBe(true);
    expect(existsSync(at("own/again"))).toBe(false);
  });

  test("is gone after dure was killed with SIGKILL, and writes no more", async () => {
    const word = aWord();
    const open =
      kind === "audit"
        ? { wanted: "audit" as const }
        : { wanted: "enforced" as const, kinds: [kind] };
    const script = `trap '' TERM HUP; setsid sh -c "trap '' TERM; while :; do echo x >> own/log; sleep 0.01; : ${word}; done" & sleep ${word}`;
    const order = {
      open: { ...open, folder: path.join(folder, "sandbox") },
      confinement: confinement({ hidden: [], network: { kind: "open", hosts: [] } }),
      command: command(script),
    };
    const host = spawn("node", ["--conditions=dure-source", HOST, JSON.stringify(order)], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    let identity: WorkerIdentity | undefined;
    createInterface({ input: host.stdout }).on(
      "line",
      (line) => (identity ??= (JSON.parse(line) as { identity?: WorkerIdentity }).identity),
    );
    const others = new Set([String(host.pid)]); // its own command line holds the word too
    await until(
      () => identity !== undefined && withWord(word).filter((pid) => !others.has(pid)).length >= 2,
    );

    host.kill("SIGKILL");
    await new Promise((resolve) => host.once("exit", resolve));
    const answer = await endProcess(identity!, { clock: systemClock });

    expect(["ended", "gone"]).toContain(answer);
    expect(withWord(word)).toEqual([]);
    expect(await endProcess(identity!, { clock: systemClock })).toBe("gone");
  });

  test("is never taken for another process with its number", async () => {
    const running = await sandbox.spawn(confinement(), command("sleep 30"));
    const { identity } = running;

    expect(await endProcess({ ...identity, host: "elsewhere" }, { clock: systemClock })).toBe(
      "other-host",
    );
    expect(await endProcess({ ...identity, bootId: "another" }, { clock: systemClock })).toBe(
      "gone",
    );
    expect(await endProcess({ ...identity, startedTicks: "1" }, { clock: systemClock })).toBe(
      "gone",
    );
    expect(existsSync(`/proc/${identity.pid}`)).toBe(true);
    expect(await endProcess(identity, { clock: systemClock })).toBe("ended");
    await running.ended;
    expect(existsSync(`/proc/${identity.pid}`)).toBe(false);
  });
});

test("an open error names each kind that was tried and why it failed", async () => {
  const nothing = openSandbox({
    wanted: "enforced",
    kinds: [],
    folder: path.join(folder, "sandbox"),
    clock: systemClock,
  });

  await expect(nothing.catch(codeOf)).resolves.toBe("ISOLATION_UNAVAILABLE");
});

test.runIf(isRoot)(
  "a machine without mounts confines none, unless workers may read what every user of it may",
  async () => {
    const machine = {
      wanted: "enforced",
      folder: path.join(folder, "sandbox"),
      clock: systemClock,
      prove: async ({ kind }: Sandbox) => {
        if (kind !== "other-user") throw new Error("it may make no mounts");
        return { ...UNPROVEN, network: "enforced", files: "by-modes" } as const;
      },
    } as const;

    await expect(openSandbox(machine)).rejects.toMatchObject({
      code: "ISOLATION_UNAVAILABLE",
      message: expect.stringContaining("plans.filesByModes allows it") as string,
    });
    expect((await openSandbox({ ...machine, filesByModes: true })).kind).toBe("other-user");
  },
);

test("a machine without a network for each process confines none, and audit must be asked for", async () => {
  const machine = {
    folder: path.join(folder, "sandbox"),
    prove: async () => ({ ...UNPROVEN, network: "not", files: "enforced" }) as const,
    clock: systemClock,
  };

  const refused = openSandbox({ ...machine, wanted: "enforced" });

  await expect(refused).rejects.toMatchObject({
    code: "ISOLATION_UNAVAILABLE",
    message: expect.stringContaining("no network namespace can be made") as string,
    hint: expect.stringContaining("plans:unconfined") as string,
  });
  expect((await openSandbox({ ...machine, wanted: "audit" })).kind).toBe("audit");
});
