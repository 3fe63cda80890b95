import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { DureError } from "../../kernel/errors.ts";
import { GATE_ENV } from "./gate.ts";
import type { Sandbox, SandboxSetting } from "./sandbox.ts";

/** Runs under the confinement: tries everything once, says what worked. */
const TRIAL = `
echo x > owned/new && echo wrote-owned
echo x > outside && echo wrote-outside
echo x > owned/kept && echo wrote-kept
read -r secret < secret && echo read-secret
echo x > disposable/new && echo wrote-disposable
echo x > "$1" && echo wrote-folder
exit 7
`;

/** What a confined process must come back with: its own writes, and no others. */
const EXPECTED = "wrote-owned wrote-disposable";

/** Lets a real process try to leave its confinement. Throws when it does, or cannot work in it. */
export async function proveConfinement(sandbox: Sandbox, setting: SandboxSetting, options: { signal?: AbortSignal | undefined }): Promise<void> {
  const trial = mkdtempSync(path.join(setting.folder, "trial-"));
  try {
    for (const folder of ["owned", "disposable"]) mkdirSync(path.join(trial, folder));
    for (const file of ["owned/kept", "outside", "secret"]) writeFileSync(path.join(trial, file), "before\n");
    const end = await sandbox.run(
      {
        cwd: trial,
        writable: [path.join(trial, "owned")],
        readOnly: [path.join(trial, "owned/kept")],
        hidden: [path.join(trial, "secret")],
        disposable: [path.join(trial, "disposable")],
      },
      {
        command: ["/bin/sh", "-c", TRIAL, "sh", path.join(setting.folder, "from-inside")],
        env: { PATH: GATE_ENV.PATH, LC_ALL: "C" },
        limits: { timeMs: 10_000, outputBytes: 10_000, fileBytes: 1_000_000, processes: 100 },
      },
      options,
    );
    const done = end.output.split("\n").filter((line) => /^(wrote|read)-\w+$/.test(line));
    const landed = [...readdirSync(path.join(trial, "owned")), ...readdirSync(path.join(trial, "disposable"))];
    if (end.exitCode !== 7) throw failed(`a trial process ended with ${end.exitCode ?? end.signal}: ${end.output.trim().slice(-500)}`);
    if (done.join(" ") !== EXPECTED || landed.toSorted().join(" ") !== "kept new") {
      throw failed(`a trial process did ${done.join(", ") || "nothing"} where ${EXPECTED.replace(" ", ", ")} was allowed, and left ${landed.join(", ")}`);
    }
  } finally {
    rmSync(trial, { recursive: true, force: true });
  }
}

function failed(message: string): DureError {
  return new DureError("SANDBOX_UNPROVEN", message, { class: "unavailable" });
}
