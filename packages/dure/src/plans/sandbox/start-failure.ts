import type { ChildProcess } from "node:child_process";
import { DureError } from "../../kernel/errors.ts";
import { absentIn, absentWords } from "./absent.ts";
import { cwdMissing } from "./check.ts";
import type { Gate, GateClosed } from "./gate-process.ts";
import type { TreeOrder } from "./tree.ts";

export async function startFailed(
  child: ChildProcess,
  gate: Gate,
  exited: Promise<unknown>,
): Promise<DureError> {
  gate.close();
  const cause = await exited.then(
    () => undefined,
    (error: unknown) => error,
  );
  return new DureError("SANDBOX_FAILED", `${child.spawnfile} could not be started.`, {
    class: "unavailable",
    cause,
  });
}

/** @param order `isReady`: the confinement stood when it ended. */
export function explain(
  error: GateClosed,
  message: string,
  order: TreeOrder & { readonly isReady: boolean },
): DureError {
  const { command } = order.command;
  if (error.message.endsWith("failed cwd")) return cwdMissing(order.confinement.cwd);
  if (error.message.endsWith("failed command")) {
    const { places = [] } = order.enclosure;
    const absent = places.length === 0 ? [] : absentIn(order.command, places);
    return new DureError(
      "SANDBOX_COMMAND_MISSING",
      `There is no program ${JSON.stringify(command[0])} on the PATH given.`,
      {
        class: "not-found",
        hint: `Install it, or name it with its whole path.${absentWords({ absent })}`,
        details: { command: command[0], path: order.command.env["PATH"] ?? null },
      },
    );
  }
  if (error.message.endsWith("failed network")) {
    return new DureError(
      "SANDBOX_NETWORK",
      "The way out of the process's network could not be opened.",
      { class: "unavailable", hint: `Can other users run ${process.execPath}?` },
    );
  }
  return new DureError(
    "SANDBOX_FAILED",
    `The confinement could not be made: ${message || "it ended without a word"}.`,
    { class: "unavailable", details: { isReady: order.isReady } },
  );
}
