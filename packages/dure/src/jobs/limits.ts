import { durationMs } from "../kernel/duration.ts";

/** Bounds of exchanges, each with its source. Durations in milliseconds. */
export interface JobLimits {
  /**
   * Exchanges that one agent answers at once, in all processes together. Default 3. Source:
   * docs/spec/jobs §3.
   */
  readonly permits: number;
  /**
   * Longest wait for the first permit; then `blocked`. Default 30 s of running time. Source:
   * docs/spec/jobs §3.
   */
  readonly permitWaitMs: number;
  /** Longest time for the target's first reply. Default 300 s. Source: docs/spec/jobs §3. */
  readonly firstReplyMs: number;
  /** Longest time for every further exchange turn. Default 120 s. Source: docs/spec/jobs §3. */
  readonly turnMs: number;
  /** Exchange turns of a collaboration. Default 10. Source: docs/spec/jobs §3. */
  readonly collaborationTurns: number;
  /** What a caller may ask for as `maxTurns`. Default 50. */
  readonly maxTurns: number;
  /** Resumes without progress; then `resume_limit`. Default 5. Source: docs/spec/jobs §4. */
  readonly resumes: number;
  /**
   * RUNNING without progress for longer than this is given up. Default 1 h of running time. Source:
   * docs/spec/jobs §4.
   */
  readonly staleMs: number;
  /** How long finished jobs are kept. Default 7 days. Source: docs/spec/jobs §4. */
  readonly keepMs: number;
  /** How deep requests may ask for others. Default 5. */
  readonly depth: number;
  /** Jobs of one root, itself included. Default 50. */
  readonly tree: number;
  /** What all jobs of one root may use together; absent: no bound but the team's. */
  readonly treeTokens?: number | undefined;
  readonly treeMicroUsd?: number;
  /** Exchanges that one process leads at once. Default 500. */
  readonly running: number;
  /**
   * Bytes of UTF-8 of a request or of a person's words. Default 16 KiB. Told
   * whole.
   */
  readonly messageBytes: number;
  /**
   * Bytes of a typed payload as the receiver is shown it. Default 12 KiB. Told
   * whole in the first turn.
   */
  readonly payloadBytes: number;
  /**
   * Words of persons that one turn is told, and their bytes together. Default 20, and 20 KiB. Told whole.
   */
  readonly words: { readonly count: number; readonly bytes: number };
  /**
   * A job for agents that no process knows waits this long for one that does. Default 10 s. Room
   * for a rolling upgrade.
   */
  readonly unknownAgentMs: number;
}

export const JOB_LIMITS: JobLimits = {
  permits: 3,
  permitWaitMs: durationMs("30s"),
  firstReplyMs: durationMs("300s"),
  turnMs: durationMs("120s"),
  collaborationTurns: 10,
  maxTurns: 50,
  resumes: 5,
  staleMs: durationMs("1h"),
  keepMs: durationMs("7d"),
  depth: 5,
  tree: 50,
  running: 500,
  messageBytes: 16_384,
  payloadBytes: 12_288,
  words: { count: 20, bytes: 20_480 },
  unknownAgentMs: durationMs("10s"),
};
