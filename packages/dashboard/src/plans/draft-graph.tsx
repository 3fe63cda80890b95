import { useWords } from "../language.tsx";
import {
  Handle,
  MarkerType,
  Position,
  ReactFlow,
  type Edge,
  type Node,
  type NodeProps,
} from "@xyflow/react";
import "@xyflow/react/dist/base.css";
import { IconAlertTriangle } from "@tabler/icons-react";
import type { DraftPort } from "dure/client";
import type { ReactNode } from "react";
import { DRAFTS_WORDS } from "words:later/drafts";
import { STILL_GRAPH } from "./still-graph.ts";
import { BOX, layoutRun } from "./run-graph.ts";

interface Drawn {
  readonly ports: readonly DraftPort[];
  /** How many problems each port has, by its place. */
  readonly troubles: ReadonlyMap<number | undefined, readonly unknown[]>;
  readonly picked: string | undefined;
  readonly onPick: (id: string) => void;
}

type DraftPortNode = Node<
  {
    readonly port: DraftPort;
    readonly troubles: number;
    readonly isPicked: boolean;
    readonly onPick: (id: string) => void;
  },
  "port"
>;

const NODE_TYPES = { port: PortBox };
const FIT = { padding: 0.06, minZoom: 0.5, maxZoom: 1 } as const;

/** Ports from what is needed to what needs it; each is a button that opens it. */
export function DraftGraph(drawn: Drawn): ReactNode {
  const words = useWords(DRAFTS_WORDS);
  const nodes = nodesOf(drawn);
  const edges = edgesOf(drawn.ports, words.edgeOf);
  // Another set of ports is another picture.
  const key = drawn.ports.map(({ id, dependsOn }) => `${id}<${dependsOn.join()}`).join(" ");

  return (
    <div className="port-graph">
      <ReactFlow
        key={key}
        nodes={nodes}
        edges={edges}
        nodeTypes={NODE_TYPES}
        fitView
        fitViewOptions={FIT}
        minZoom={0.2}
        {...STILL_GRAPH}
        aria-label={words.graph}
        ariaLabelConfig={{ "edge.a11yDescription.default": words.graphHint }}
      />
    </div>
  );
}

function PortBox({
  data: { port, troubles, isPicked, onPick },
}: NodeProps<DraftPortNode>): ReactNode {
  const words = useWords(DRAFTS_WORDS);
  const { id, title, owns } = port;
  return (
    <>
      <Handle type="target" position={Position.Left} isConnectable={false} />
      <button
        type="button"
        className="port-box plain nopan"
        data-tone={troubles > 0 ? "bad" : undefined}
        data-picked={isPicked || undefined}
        aria-pressed={isPicked}
        onClick={() => onPick(id)}
      >
        <strong>{title === "" ? id : title}</strong>
        <code className="clip">{owns.join(", ")}</code>
        {troubles > 0 && (
          <span className="small error-note">
            <IconAlertTriangle size={13} aria-hidden /> {words.problems({ count: troubles })}
          </span>
        )}
      </button>
      <Handle type="source" position={Position.Right} isConnectable={false} />
    </>
  );
}

/** An id that stands twice is drawn once; its problem says so. */
function nodesOf({ ports, troubles, picked, onPick }: Drawn): DraftPortNode[] {
  const places = new Map(ports.map(({ id }, place) => [id, place]));
  const ids = new Set(places.keys());
  const known = [...places.values()].map((place) => {
    const { id, dependsOn } = ports[place]!;
    return { id, dependsOn: dependsOn.filter((need) => ids.has(need) && need !== id) };
  });

  return layoutRun(known).boxes.map(({ id, x, y }) => {
    const place = places.get(id)!;
    const count = troubles.get(place)?.length ?? 0;
    const data = { port: ports[place]!, troubles: count, isPicked: id === picked, onPick };

    return { id, type: "port" as const, position: { x, y }, ...BOX, data };
  });
}

function edgesOf(
  ports: readonly DraftPort[],
  labelOf: (said: { from: string; to: string }) => string,
): Edge[] {
  const ids = new Set(ports.map(({ id }) => id));
  const ways = ports.flatMap(({ id, dependsOn }) =>
    dependsOn.filter((need) => ids.has(need)).map((need) => ({ from: need, to: id })),
  );

  return ways.map(({ from, to }) => ({
    id: `${from}→${to}`,
    source: from,
    target: to,
    ariaLabel: labelOf({ from, to }),
    className: "port-way",
    markerEnd: { type: MarkerType.ArrowClosed, width: 16, height: 16, color: "context-stroke" },
  }));
}
