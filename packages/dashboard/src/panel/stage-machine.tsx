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
        <g
          key={box.stage}
          className="stage-box"
          data-current={box.stage === current || undefined}
          data-open={open.has(box.stage) || undefined}
          data-terminal={box.terminal || undefined}
        >
          <rect
            x={box.x}
            y={box.y}
            width={box.width}
            height={box.height}
            rx={box.terminal ? box.height / 2 : 8}
          />
          <text
            x={box.x + box.width / 2}
            y={box.y + box.height / 2}
            dominantBaseline="central"
            textAnchor="middle"
          >
            {box.stage}
          </text>
        </g>
      ))}
    </svg>
  );
}
