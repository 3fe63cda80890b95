import type { StageMachine } from "dure/client";
import { useMemo, type ReactNode } from "react";
import { useText } from "../language.tsx";
import { layoutStages } from "./stage-layout.ts";

/** The stages of a service as a drawing, with the current one and the ways on from it marked. */
export function StageMachineView({
  machine,
  current,
}: {
  machine: StageMachine;
  current: string;
}): ReactNode {
  const text = useText();
  const { width, height, boxes, arrows } = useMemo(() => layoutStages(machine), [machine]);
  const open = new Set(arrows.filter((arrow) => arrow.from === current).map((arrow) => arrow.to));

  return (
    <svg
      className="stages"
      viewBox={`0 0 ${width} ${height}`}
      role="img"
      aria-label={text.panel.stageNow(current, [...open].join(", "))}
    >
      <ArrowHeads />
      {arrows.map((arrow) => {
        const kind = arrow.from === current ? "open" : "rest";
        return (
          <path
            key={`${arrow.from}→${arrow.to}`}
            d={arrow.path}
            className="stage-arrow"
            data-kind={kind}
            data-back={arrow.back || undefined}
            markerEnd={`url(#stage-arrow-${kind})`}
          />
        );
      })}
      {boxes.map((box) => (
        <StageBox
          key={box.stage}
          box={box}
          isCurrent={box.stage === current}
          isOpen={open.has(box.stage)}
        />
      ))}
    </svg>
  );
}

function ArrowHeads(): ReactNode {
  return (
    <defs>
      {["rest", "open"].map((kind) => (
        <marker
          key={kind}
          id={`stage-arrow-${kind}`}
          viewBox="0 0 8 8"
          refX="4"
          refY="4"
          markerWidth="7"
          markerHeight="7"
          orient="auto-start-reverse"
        >
          <path d="M1 1 L7 4 L1 7 z" className="stage-head" data-kind={kind} />
        </marker>
      ))}
    </defs>
  );
}

function StageBox({
  box,
  isCurrent,
  isOpen,
}: {
  box: ReturnType<typeof layoutStages>["boxes"][number];
  isCurrent: boolean;
  /** Can be reached from the current one. */
  isOpen: boolean;
}): ReactNode {
  const { stage, x, y, width, height, terminal } = box;
  return (
    <g
      className="stage-box"
      data-current={isCurrent || undefined}
      data-open={isOpen || undefined}
      data-terminal={terminal || undefined}
    >
      <rect x={x} y={y} width={width} height={height} rx={terminal ? height / 2 : 8} />
      <text x={x + width / 2} y={y + height / 2} dominantBaseline="central" textAnchor="middle">
        {stage}
      </text>
    </g>
  );
}
