// The program of a caretaker: `node caretaker-main.js <home> <idle milliseconds>`. See
// caretaker.ts.
import { systemClock } from "../../kernel/clock.ts";
import { messageOf } from "../../kernel/errors.ts";
import { takeCare } from "./caretaker.ts";

const [, , home = "", idleMs = ""] = process.argv;
try {
  const end = await takeCare({ home, idleMs: Number(idleMs), clock: systemClock });
  if (end === "stopped") {
    console.error(
      `dure: PostgreSQL stopped: nothing has used it for ${Math.round(Number(idleMs) / 1_000)} s`,
    );
  }
} catch (error) {
  console.error(`dure: the caretaker of PostgreSQL ended: ${messageOf(error)}`);
  process.exitCode = 1;
}
