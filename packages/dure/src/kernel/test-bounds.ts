/** The numbers of the specifications are held to in the long run, on a quiet machine. */
const isLongRun = process.env["DURE_TEST_LONG"] === "1";

/**
 * A bound of time, for tests: itself in the long run; else ten times as much, for a busy machine is
 * no fault and a hang is still found.
 */
export function boundMs(ms: number): number {
  return isLongRun ? ms : ms * 10;
}
