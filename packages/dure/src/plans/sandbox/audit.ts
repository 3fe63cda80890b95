import { GATE } from "./launch-script.ts";
import { findTool } from "./tools.ts";
import type { Confiner, Enclosure } from "./confiner.ts";
import type { SandboxSetting } from "./sandbox.ts";

/**
 * No isolation: what a process should not have done is found afterwards. Its tree is ended as
 * everywhere else; a child that left group and session is found by DURE_SANDBOX in its environment.
 * Disposable folders are written for good.
 */
export function openAudit(setting: SandboxSetting): Confiner {
  setting.logger.warn(
    { isolation: "audit" },
    "processes of workers run without isolation, because it was asked for",
  );
  return {
    kind: "audit",
    async enclose(): Promise<Enclosure> {
      return {
        argv: [...dyingWithUs(), "/bin/sh", "-c", GATE],
        hasInit: false,
        countsOwnProcesses: false,
      };
    },
  };
}

function dyingWithUs(): readonly string[] {
  return process.platform === "linux" ? [findTool("setpriv"), "--pdeathsig=KILL", "--"] : [];
}
