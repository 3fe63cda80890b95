import { ActionIcon } from "@mantine/core";
import { IconMaximize, IconMinus, IconPlus } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import {
  Handle,
  MarkerType,
  Panel,
  Position,
  ReactFlow,
  ReactFlowProvider,
  useReactFlow,
  useStore,
  type Edge,
  type Node,
  type NodeProps,
  type Viewport,
} from "@xyflow/react";
import "@xyflow/react/dist/base.css";
import type { RunDetail, PlanPort } from "dure/client";
import { useEffect, useRef, useState, type FocusEvent, type ReactNode } from "react";
import { useText } from "../language.tsx";
import { keepLooks } from "./run-filters.ts";
import { STILL_GRAPH } from "./still-graph.ts";
import { BOX, layoutRun, type RunGraph } from "./run-graph.ts";
import { Critical, PortState } from "./port-state.tsx";
import type { Sign, Signs } from "./signs.ts";
import { PortMark, toneOf } from "./status-mark.tsx";

type RunPortNode = Node<
  {
    readonly run: string;
    readonly port: PlanPort;
    readonly sign: Sign | undefined;
    readonly isCritical: boolean;
    readonly isPicked: boolean;
  },
  "port"
>;

const NODE_TYPES = { port: PortBox };
const SMALLEST = 0.2;
const LARGEST = 1.5;
/** A graph that is larger than its room begins at a size at which it can be read. */
const READABLE = 0.7;
const FIT = { padding: 0.06, minZoom: READABLE, maxZoom: 1 } as const;

/**
 * Ports from left to right, from what is needed to what needs it. Each is a link; the keyboard goes
 * through them in the order of the plan.
 */
export function PortGraph(props: {
  run: RunDetail;
  signs: Signs;
  picked: string | undefined;
}): ReactNode {
  return (
    <ReactFlowProvider>
      <Drawing {...props} />
    </ReactFlowProvider>
  );
}

function Drawing({
  run,
  signs,
  picked,
}: {
  run: RunDetail;
  signs: Signs;
  picked: string | undefined;
}): ReactNode {
  const text = useText();
  // Who needs whom stays as it was when the run began; so the places stay, too.
  const [graph] = useState(() => layoutRun(run.ports));
  useInSight(graph, picked);
  const nodes = nodesOf(run, graph, signs, picked);
  const edges = edgesOf(run, graph, text.plans.run.edgeOf);

  const labels = {
    "node.a11yDescription.default": text.plans.run.graphHint,
    "edge.a11yDescription.default": text.plans.run.edgeHint,
  };

  return (
    <>
      <p className="soft small">{text.plans.run.graphHint}</p>
      <div className="port-graph">
        <ReactFlow
          nodes={nodes}
          edges={edges}
          nodeTypes={NODE_TYPES}
          minZoom={SMALLEST}
          maxZoom={LARGEST}
          {...STILL_GRAPH}
          aria-label={text.plans.run.graph}
          ariaLabelConfig={labels}
        >
          <Panel position="bottom-right">
            <Zoom />
          </Panel>
        </ReactFlow>
      </div>
    </>
  );
}

/** Room around the graph, pixels. */
const EDGE = 16;

/**
 * Where it begins: the whole in the middle; where it is larger than its room, its beginning, at a
 * size at which it can be read. Pure.
 */
function startOf({ boxes }: RunGraph, room: { width: number; height: number }): Viewport {
  const wide = Math.max(...boxes.map(({ x }) => x)) + BOX.width;
  const high = Math.max(...boxes.map(({ y }) => y)) + BOX.height;
  const fitting = Math.min((room.width - 2 * EDGE) / wide, (room.height - 2 * EDGE) / high);
  const zoom = Math.min(1, Math.max(READABLE, fitting));
  const beginsAt = (most: number, size: number): number => Math.max(EDGE, (most - size * zoom) / 2);

  return { x: beginsAt(room.width, wide), y: beginsAt(room.height, high), zoom };
}

/**
 * A picked port comes into sight, also when its panel has taken room; what is in sight stays where
 * it is.
 */
function useInSight(graph: RunGraph, picked: string | undefined): void {
  const { setViewport, getViewport } = useReactFlow();
  const width = useStore((state) => state.width);
  const height = useStore((state) => state.height);
  const isPlaced = useRef(false);

  useEffect(() => {
    if (width === 0 || graph.boxes.length === 0) return;
    const { x, y, zoom } = isPlaced.current ? getViewport() : startOf(graph, { width, height });
    const box = graph.boxes.find(({ id }) => id === picked);
    const across = box ? shiftInto(width, box.x * zoom + x, BOX.width * zoom) : 0;
    const down = box ? shiftInto(height, box.y * zoom + y, BOX.height * zoom) : 0;
    const isMoved = across !== 0 || down !== 0 || !isPlaced.current;
    isPlaced.current = true;
    if (isMoved) void setViewport({ x: x + across, y: y + down, zoom });
  }, [graph, picked, width, height, getViewport, setViewport]);
}

/** How far to move what begins at `from` so that it stands in the middle; 0 where it is in sight. Pure. */
function shiftInto(room: number, from: number, size: number): number {
  return from < 0 || from + size > room ? (room - size) / 2 - from : 0;
}

function Zoom(): ReactNode {
  const text = useText();
  const { zoomIn, zoomOut, fitView } = useReactFlow();

  return (
    <ActionIcon.Group>
      <ActionIcon
        variant="default"
        size="md"
        aria-label={text.plans.run.zoomOut}
        onClick={() => void zoomOut()}
      >
        <IconMinus size={16} />
      </ActionIcon>
      <ActionIcon
        variant="default"
        size="md"
        aria-label={text.plans.run.zoomIn}
        onClick={() => void zoomIn()}
      >
        <IconPlus size={16} />
      </ActionIcon>
      <ActionIcon
        variant="default"
        size="md"
        aria-label={text.plans.run.fit}
        onClick={() => void fitView({ padding: FIT.padding, minZoom: SMALLEST, maxZoom: 1 })}
      >
        <IconMaximize size={16} />
      </ActionIcon>
    </ActionIcon.Group>
  );
}

function PortBox({
  data: { run, port, sign, isCritical, isPicked },
  positionAbsoluteX: x,
  positionAbsoluteY: y,
}: NodeProps<RunPortNode>): ReactNode {
  const { setCenter, getZoom } = useReactFlow();
  /** Who comes by keyboard sees where they are; a click leaves the picture where it is. */
  const onFocus = (event: FocusEvent<HTMLElement>): void => {
    if (event.currentTarget.matches(":focus-visible")) {
      void setCenter(x + BOX.width / 2, y + BOX.height / 2, { zoom: getZoom() });
    }
  };

  return (
    <>
      <Handle type="target" position={Position.Left} isConnectable={false} />
      <Link
        to="/plans/runs/$run/ports/$port"
        params={{ run, port: port.id }}
        search={keepLooks}
        className="port-box plain nopan"
        data-tone={toneOf(port.status)}
        data-critical={isCritical || undefined}
        data-picked={isPicked || undefined}
        aria-current={isPicked ? "page" : undefined}
        onFocus={onFocus}
        draggable={false}
      >
        <span className="row between">
          <PortMark status={port.status} />
          {isCritical && <Critical />}
        </span>
        <strong className="clip" title={port.title}>
          {port.title}
        </strong>
        <PortState port={port} sign={sign} />
      </Link>
      <Handle type="source" position={Position.Right} isConnectable={false} />
    </>
  );
}

function nodesOf(
  run: RunDetail,
  graph: RunGraph,
  signs: Signs,
  picked: string | undefined,
): RunPortNode[] {
  const byId = new Map(run.ports.map((port) => [port.id, port]));
  return graph.boxes.flatMap(({ id, x, y }) => {
    const port = byId.get(id);
    if (port === undefined) return [];

    return [
      {
        id,
        type: "port",
        position: { x, y },
        ...BOX,
        data: {
          run: run.id,
          port,
          sign: signs[id],
          isCritical: graph.critical.has(id),
          isPicked: id === picked,
        },
      },
    ];
  });
}

function edgesOf(
  run: RunDetail,
  graph: RunGraph,
  labelOf: (said: { from: string; to: string }) => string,
): Edge[] {
  const titles = new Map(run.ports.map(({ id, title }) => [id, title]));
  const titleOf = (id: string): string => titles.get(id) ?? id;
  const done = new Set(
    run.ports.filter(({ status }) => status === "succeeded").map(({ id }) => id),
  );

  return graph.ways.map(({ from, to, isCritical }) => ({
    id: `${from}→${to}`,
    source: from,
    target: to,
    ariaLabel: labelOf({ from: titleOf(from), to: titleOf(to) }),
    className: ["port-way", isCritical && "port-way-critical", done.has(from) && "port-way-done"]
      .filter(Boolean)
      .join(" "),
    markerEnd: { type: MarkerType.ArrowClosed, width: 16, height: 16, color: "context-stroke" },
    zIndex: isCritical ? 1 : 0,
  }));
}
