// A worker that ignores everything that it was told. Arguments: the person's repository, the store of the run, a mark for its processes.
import { execFileSync, spawn } from "node:child_process";
import { appendFileSync, chmodSync, linkSync, mkdirSync, openSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync, writeSync } from "node:fs";

const [repository, store, mark] = process.argv.slice(2);
const done = [];
const attack = (name, work) => {
  try {
    work();
    done.push(name);
  } catch {
    // held
  }
};
const sh = (command) => execFileSync("/bin/sh", ["-c", command], { stdio: "ignore" });

attack("path traversal", () => writeFileSync("../../../../escaped.txt", "x"));
attack("absolute path", () => writeFileSync(`${repository}/src/price/escaped.mjs`, "x"));
attack("contract", () => appendFileSync("src/contracts/amount.mjs", "// mine now\n"));
attack("contract after chmod", () => (chmodSync("src/contracts", 0o777), chmodSync("src/contracts/amount.mjs", 0o777), writeFileSync("src/contracts/amount.mjs", "x")));
attack("another port's file", () => writeFileSync("src/stock/stock.mjs", "export const left = () => 'mine';\n"));
attack("rename over", () => (writeFileSync("src/price/tmp.mjs", "x"), renameSync("src/price/tmp.mjs", "src/stock/stock.mjs")));
attack("remove", () => rmSync("src/stock", { recursive: true }));
attack("hard link", () => (linkSync("src/stock/stock.mjs", "src/price/link.mjs"), writeFileSync("src/price/link.mjs", "x")));
attack("case variant", () => (mkdirSync("SRC/stock", { recursive: true }), writeFileSync("SRC/stock/stock.mjs", "x")));
attack("git directory", () => writeFileSync(".git/hooks/post-commit", "#!/bin/sh\ntouch /tmp/hooked\n"));
attack("fsmonitor", () => sh("git config core.fsmonitor /bin/true"));
attack("fsmonitor of the person", () => sh(`git -C '${repository}' config core.fsmonitor /bin/true`));
attack("gc of the person", () => sh(`git -C '${repository}' gc --quiet --prune=now`));
attack("gc of the store", () => sh(`git -C '${store}' gc --quiet --prune=now`));
attack("worktree remove", () => sh(`git -C '${repository}' worktree remove --force '${process.cwd()}'`));
attack("refs of the store", () => sh(`git -C '${store}' update-ref refs/work/ports/stock/result HEAD`));
attack("remount", () => sh("mount -o remount,rw / || mount -o remount,bind,rw src/stock"));
attack("unmount", () => sh("umount src/contracts || umount -l ."));
attack("new namespace", () => sh("unshare -rm sh -c 'mount -o remount,bind,rw . && touch src/stock/mine'"));
attack("chattr", () => sh("chattr -i . && touch src/stock/mine"));

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
spawn(process.execPath, ["-e", late, mark], { detached: true, stdio: ["ignore", "ignore", "ignore", descriptor] }).unref();
writeSync(descriptor, "// written through a descriptor that was opened before\n");
console.log(`done: ${done.join(", ")}`);
