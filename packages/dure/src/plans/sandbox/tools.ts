import { accessSync, constants } from "node:fs";
import path from "node:path";
import { DureError } from "../../kernel/errors.ts";
import { GATE_ENV } from "./launch-script.ts";

/** In which package Debian has a tool; elsewhere the names are alike. */
const PACKAGES: Readonly<Record<string, string>> = {
  bwrap: "bubblewrap",
  ip: "iproute2",
  mount: "mount",
  umount: "mount",
  cp: "coreutils",
  du: "coreutils",
  nice: "coreutils",
  chown: "coreutils",
};

/** Where a tool of the system is. Never looked up on a PATH that is not ours. */
export function findTool(name: string): string {
  for (const folder of GATE_ENV.PATH.split(":")) {
    const at = path.join(folder, name);
    try {
      accessSync(at, constants.X_OK);
      return at;
    } catch {
      // the next one
    }
  }
  const wanted = PACKAGES[name] ?? "util-linux";
  throw new DureError("SANDBOX_TOOL_MISSING", `${name} is not installed (package ${wanted}).`, {
    class: "unavailable",
    hint: `Install ${wanted}.`,
  });
}
