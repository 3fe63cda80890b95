import {
  IconAlertTriangle,
  IconBan,
  IconCircleCheck,
  IconCircleDashed,
  IconCircleX,
  IconClock,
  IconClockPause,
  IconLoader2,
  IconLock,
  IconPlayerPause,
  IconUserCheck,
  type Icon,
} from "@tabler/icons-react";
import type { PlanRun, PlanRunStatus, PortStatus } from "dure/client";
import type { ReactNode } from "react";
import { useText } from "../language.tsx";
import { useIsGone } from "../server-watch.ts";

type MarkTone = "quiet" | "now" | "good" | "warn" | "bad";

const PORT_LOOKS = {
  waiting: { Icon: IconCircleDashed, tone: "quiet" },
  ready: { Icon: IconClock, tone: "quiet" },
  running: { Icon: IconLoader2, tone: "now" },
  held: { Icon: IconUserCheck, tone: "warn" },
  succeeded: { Icon: IconCircleCheck, tone: "good" },
  failed: { Icon: IconCircleX, tone: "bad" },
  blocked: { Icon: IconLock, tone: "warn" },
  cancelled: { Icon: IconBan, tone: "quiet" },
} as const satisfies Record<PortStatus, { Icon: Icon; tone: MarkTone }>;

const RUN_LOOKS = {
  running: { Icon: IconLoader2, tone: "now" },
  paused: { Icon: IconPlayerPause, tone: "warn" },
  cancelling: { Icon: IconLoader2, tone: "warn" },
  waiting_host: { Icon: IconClockPause, tone: "warn" },
  success: { Icon: IconCircleCheck, tone: "good" },
  partial: { Icon: IconAlertTriangle, tone: "warn" },
  failed: { Icon: IconCircleX, tone: "bad" },
  cancelled: { Icon: IconBan, tone: "quiet" },
} as const satisfies Record<PlanRunStatus, { Icon: Icon; tone: MarkTone }>;

export function toneOf(status: PortStatus): MarkTone {
  return PORT_LOOKS[status].tone;
}

/** How a port stands: a picture and a word, and colour beside them. */
export function PortMark({ status }: { status: PortStatus }): ReactNode {
  const { Icon, tone } = PORT_LOOKS[status];
  return (
    <Mark
      Icon={Icon}
      tone={tone}
      isTurning={status === "running"}
      words={useText().plans.portStatuses[status]}
    />
  );
}

export function RunMark({
  status,
  phase,
}: {
  status: PlanRunStatus;
  phase?: PlanRun["phase"] | undefined;
}): ReactNode {
  const text = useText();
  const { Icon, tone } = RUN_LOOKS[status];

  const words =
    status === "running" && phase !== undefined
      ? text.plans.phases[phase]
      : text.plans.runStatuses[status];

  return (
    <Mark
      Icon={Icon}
      tone={tone}
      isTurning={status === "running" || status === "cancelling"}
      words={words}
    />
  );
}

function Mark({
  Icon,
  tone,
  isTurning,
  words,
}: {
  Icon: Icon;
  tone: MarkTone;
  isTurning: boolean;
  words: string;
}): ReactNode {
  const { lastSeen } = useText().shell.connection;
  const isStale = useIsGone() && isTurning;

  return (
    <span className="plan-mark badge" data-tone={isStale ? "quiet" : tone}>
      <Icon
        size={14}
        stroke={2}
        aria-hidden
        className={isTurning && !isStale ? "plan-turning" : undefined}
      />
      {isStale ? lastSeen({ status: words }) : words}
    </span>
  );
}

/** A bar with its share in words for those who do not see it. */
export function Bar({
  share,
  label,
  tone = "now",
}: {
  share: number;
  label: string;
  tone?: MarkTone;
}): ReactNode {
  const percent = Math.round(Math.min(1, Math.max(0, share)) * 100);
  return (
    <span
      className="plan-bar track"
      role="progressbar"
      aria-label={label}
      aria-valuenow={percent}
      aria-valuemin={0}
      aria-valuemax={100}
      data-tone={tone}
    >
      <span style={{ inlineSize: `${percent}%` }} />
    </span>
  );
}
