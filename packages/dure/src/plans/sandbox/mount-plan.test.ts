import { expect, test } from "vitest";
import { mountOf, parseMounts, tableLine } from "./mount-table.ts";
import { planPlaces, type KindOf } from "./mount-plan.ts";
import type { Confinement } from "./sandbox.ts";

const allFolders: KindOf = () => "folder";

function places(
  confinement: Partial<Confinement>,
  alwaysHidden: readonly string[] = [],
  kindOf: KindOf = allFolders,
): readonly string[] {
  const whole = {
    cwd: "/w",
    writable: [],
    readOnly: [],
    hidden: [],
    disposable: [],
    ...confinement,
  };
  return planPlaces(whole, { hidden: alwaysHidden, shown: [] }, kindOf).map(
    (place) =>
      `${place.look} ${place.path}${place.skeleton.map((entry) => ` +${entry.path}`).join("")}`,
  );
}

test("parents come before what lies in them, whatever the order in which they were named", () => {
  expect(places({ writable: ["/w/a/b/c", "/w"], readOnly: ["/w/a"] })).toEqual([
    "writable /w",
    "readOnly /w/a",
    "writable /w/a/b/c",
  ]);
});

test("on the same path the stronger rule wins", () => {
  const same = ["/w/a"];

  expect(places({ writable: same, disposable: same, readOnly: same, hidden: same })).toEqual([
    "hidden /w/a",
  ]);
  expect(places({ writable: same, disposable: same })).toEqual(["disposable /w/a"]);
});

test("folders between an owned and a kept place are pinned, so that no worker can rename them", () => {
  expect(places({ writable: ["/w"], readOnly: ["/w/a/b/kept"] })).toEqual([
    "writable /w",
    "pinned /w/a",
    "pinned /w/a/b",
    "readOnly /w/a/b/kept",
  ]);
});

test("what lies in something hidden is hidden with it; what is opened again has a place to stand on", () => {
  expect(
    places({ cwd: "/h/tree", writable: ["/h/tree/own"], hidden: ["/h/other"] }, ["/h"]),
  ).toEqual(["hidden /h +tree", "shown /h/tree", "writable /h/tree/own"]);
});

test("what is hidden in a working folder stays hidden when that folder is opened again", () => {
  expect(places({ cwd: "/h/tree", hidden: ["/h/tree/key"] }, ["/h"])).toEqual([
    "hidden /h +tree",
    "shown /h/tree",
    "hidden /h/tree/key",
  ]);
});

test("what is missing, or a link, is no place", () => {
  expect(
    places({ hidden: ["/gone"], writable: ["/w"] }, [], (at) =>
      at === "/gone" ? undefined : "folder",
    ),
  ).toEqual(["writable /w"]);
});

test("a mount table is read as the kernel escapes it, and written as mount reads it", () => {
  const mounts = parseMounts(
    [
      "1 0 8:1 / / rw,noatime - ext4 /dev/sda rw",
      String.raw`2 1 8:2 / /a\040b\012c ro,nosuid,noexec,relatime shared:1 - ext4 /dev/sdb rw`,
    ].join("\n"),
  );

  expect(mountOf("/a b\nc/d", mounts)).toEqual({
    at: "/a b\nc",
    flags: ["nosuid", "noexec", "relatime"],
  });
  expect(mountOf("/a b\ncd", mounts)?.at).toBe("/");
  expect(tableLine("/a b\nc", "/tab\t\\#", "none", ["bind", "ro", "ro"])).toBe(
    String.raw`/a\040b\012c /tab\011\134\043 none bind,ro 0 0`,
  );
});
