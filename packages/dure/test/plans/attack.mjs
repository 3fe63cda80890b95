// A worker that ignores everything that it was told. Arguments: the person's repository, the store
// of the run, a mark for its processes.
import { execFileSync, spawn } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
  writeSync,
} from "node:fs";

const [repository, store, mark, control] = process.argv.slice(2);
const done = [];
const held = [];
const attack = (name, work) => {
  try {
    if (work() === false) throw new Error("nothing came of it");
    done.push(name);
  } catch (error) {
    held.push(`${name} (${String(error.message).split("\n")[0].slice(0, 120)})`);
  }
};
const sh = (command) =>
  execFileSync("/bin/sh", ["-c", command], {
    stdio: ["ignore", "pipe", "ignore"],
    encoding: "utf8",
    maxBuffer: 50_000_000,
  });
/** Stands in everything that this worker must not read. */
const reads = (name, work) => attack(`read ${name}`, () => work().includes("not-for-price"));

reads("another port's file", () => readFileSync("src/stock/stock.mjs", "utf8"));
reads("another port's file by a program", () => sh("cat src/*/*.mjs"));
reads("another port's file from git", () => sh("git show HEAD:src/stock/stock.mjs"));
reads("another port's tree", () => sh("cat ../../stock/tree/src/stock/stock.mjs"));
reads("another port's tree by its whole path", () =>
  readFileSync(`${store}/../ports/stock/tree/src/stock/stock.mjs`, "utf8"),
);
reads("the person's file", () => readFileSync(`${repository}/src/stock/stock.mjs`, "utf8"));
reads("what the person never committed", () => readFileSync(`${repository}/.env`, "utf8"));
reads("the person's file through another root", () =>
  sh(`cat /proc/[0-9]*/root'${repository}'/.env || true`),
);
reads("the person's repository", () => sh(`git -C '${repository}' show HEAD:src/stock/stock.mjs`));
reads("the store", () => sh(`git --git-dir='${store}' cat-file --batch-all-objects --batch`));

attack("path traversal", () => writeFileSync("../../../../escaped.txt", "x"));
attack("absolute path", () => writeFileSync(`${repository}/src/price/escaped.mjs`, "x"));
attack("contract", () => appendFileSync("src/contracts/amount.mjs", "// mine now\n"));
attack(
  "contract after chmod",
  () => (
    chmodSync("src/contracts", 0o777),
    chmodSync("src/contracts/amount.mjs", 0o777),
    writeFileSync("src/contracts/amount.mjs", "x")
  ),
);
attack(
  "hard link",
  () => (
    linkSync("src/stock/stock.mjs", "src/price/link.mjs"),
    writeFileSync("src/price/link.mjs", "x")
  ),
);
attack("another port's file", () =>
  writeFileSync("src/stock/stock.mjs", "export const left = () => 'mine';\n"),
);
attack(
  "rename over",
  () => (
    writeFileSync("src/price/tmp.mjs", "x"),
    renameSync("src/price/tmp.mjs", "src/stock/stock.mjs")
  ),
);
attack("remove", () => rmSync("src/stock", { recursive: true }));
attack("remove the person's files", () =>
  rmSync(`${repository}/src/contracts`, { recursive: true }),
);
attack(
  "case variant",
  () => (mkdirSync("SRC/stock", { recursive: true }), writeFileSync("SRC/stock/stock.mjs", "x")),
);
attack(
  "git directory",
  () => (
    mkdirSync(".git/hooks", { recursive: true }),
    writeFileSync(".git/hooks/post-commit", "#!/bin/sh\ntouch /tmp/hooked\n")
  ),
);
attack("fsmonitor", () => sh("git config core.fsmonitor /bin/true"));
attack("fsmonitor of the person", () =>
  sh(`git -C '${repository}' config core.fsmonitor /bin/true`),
);
attack("gc of the person", () => sh(`git -C '${repository}' gc --quiet --prune=now`));
attack("refs of the store", () =>
  sh(
    `git -C '${store}' update-ref refs/heads/mine $(git -C ` +
      `'${control === undefined ? store : repository}' rev-parse HEAD)`,
  ),
);
attack("gc of the store", () => sh(`git -C '${store}' gc --quiet`));
if (control === undefined) {
  // These would change the machine where nothing holds them.
  attack("remount", () => sh("mount -o remount,rw / || mount -o remount,bind,rw src/stock"));
  attack("unmount", () => sh("umount src/contracts || umount -l ."));
  attack("unmount what hides", () => (sh("umount src/stock"), readFileSync("src/stock/stock.mjs")));
  attack("new namespace", () =>
    sh("unshare -rm sh -c 'mount -o remount,bind,rw . && touch src/stock/mine'"),
  );
  attack("chattr", () => sh("chattr -i . && touch src/stock/mine"));
}
const told = `done: ${done.join(", ")}\nheld: ${held.join(", ")}`;
if (control !== undefined) {
  console.log(told);
  process.exit(0);
}

// What lies in its own folder it may write; what of it lands is for the commit to say.
try {
  unlinkSync("src/price/tmp.mjs");
} catch {
  // not there
}
symlinkSync("/etc/passwd", "src/price/passwd");
symlinkSync("../stock", "src/price/stock");
writeFileSync("src/price/price.mjs", "export const price = (cents) => (cents / 100).toFixed(2);\n");
const descriptor = openSync("src/price/price.mjs", "a");
const late = `setTimeout(() => { require("fs").writeSync(3, "late"); require("fs").writeFileSync("src/price/late.mjs", "late"); }, 5000)`;
spawn(process.execPath, ["-e", late, mark], {
  detached: true,
  stdio: ["ignore", "ignore", "ignore", descriptor],
}).unref();
writeSync(descriptor, "// written through a descriptor that was opened before\n");
console.log(told);
