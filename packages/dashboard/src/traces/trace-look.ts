import {
  IconAlertCircle,
  IconArrowsExchange,
  IconBan,
  IconCheck,
  IconClock,
  IconCloud,
  IconCode,
  IconCpu,
  IconHeartHandshake,
  IconHourglass,
  IconMessage,
  IconPlayerPlay,
  IconPlug,
  IconRobot,
  IconSitemap,
  IconSparkles,
  IconTool,
  IconX,
  type Icon,
} from "@tabler/icons-react";
import type { TraceStatus, WorkTraceNode, WorkTraceStep } from "dure/client";
import type { TraceRow } from "./trace-rows.ts";

/** By what a row is. */
export const KIND_ICONS = {
  message: IconMessage,
  turn: IconCpu,
  request: IconHeartHandshake,
  job: IconArrowsExchange,
  run: IconSitemap,
  port: IconPlug,
  escalation: IconAlertCircle,
  agent: IconRobot,
  model: IconSparkles,
  tool: IconTool,
  step: IconCode,
  wait: IconHourglass,
  remote: IconCloud,
} as const satisfies Record<WorkTraceNode["kind"] | WorkTraceStep["kind"], Icon>;

const TONES = {
  bad: ["failed", "FAILED", "ABANDONED", "expired", "blocked", "unknown"],
  quiet: ["CANCELLED", "cancelled", "withdrawn", "dismissed"],
  now: ["running", "RUNNING", "ready"],
  over: ["done", "sent", "answered", "resolved", "COMPLETED", "succeeded", "success"],
  waits: ["queued", "open", "PENDING", "waiting", "held", "paused", "waiting_host"],
  warn: ["cancelling", "partial"],
} as const satisfies Record<string, readonly TraceStatus[]>;
export type TraceTone = keyof typeof TONES;

/** A state has a colour and a mark. */
export const TONE_ICONS = {
  bad: IconX,
  quiet: IconBan,
  now: IconPlayerPlay,
  over: IconCheck,
  waits: IconClock,
  warn: IconAlertCircle,
} as const satisfies Record<TraceTone, Icon>;

/** How a thing stands, for its colour and mark; the words say it too. Pure. */
export function toneOf(status: string): TraceTone {
  const found = Object.entries<readonly string[]>(TONES).find(([, all]) => all.includes(status));
  return (found?.[0] as TraceTone | undefined) ?? "quiet";
}

export function kindOf({ node, step }: TraceRow): keyof typeof KIND_ICONS {
  return node?.kind ?? step!.kind;
}

export function statusOf({ node, step }: TraceRow): string {
  return node?.status ?? step!.status;
}
