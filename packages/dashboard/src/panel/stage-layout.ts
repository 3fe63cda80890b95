import type { StageMachine } from "dure/client";

export interface StageBox {
  readonly stage: string;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  readonly terminal: boolean;
}

export interface StageArrow {
  readonly from: string;
  readonly to: string;
  /** An SVG path. */
  readonly path: string;
  /** Goes back to an earlier stage. */
  readonly back: boolean;
}

export interface StageDrawing {
  readonly width: number;
  readonly height: number;
  readonly boxes: readonly StageBox[];
  readonly arrows: readonly StageArrow[];
}

const BOX = { width: 112, height: 30, gap: 26 };
/** Room on the left for arrows that skip a stage or go back. */
const MARGIN = 34;
const GUTTER = 46;

/**
 * Where to draw a stage machine: the way through it in a column on the left, the stages that end it
 * in a column on the right, each near the stage it comes from. The reset from a terminal stage to
 * the first is not drawn. Pure.
 */
export function layoutStages(machine: StageMachine): StageDrawing {
  const ends = new Set(machine.terminal);
  const drawn = machine.transitions.filter(([from]) => !ends.has(from));
  const way = orderOf(machine, drawn, ends);
  const rowOf = new Map(way.map((stage, row) => [stage, row]));
  const finals = machine.terminal.toSorted(
    (a, b) => meanSource(a, drawn, rowOf) - meanSource(b, drawn, rowOf),
  );

  const rows = Math.max(way.length, finals.length, 1);
  const step = BOX.height + BOX.gap;
  const height = rows * step - BOX.gap + 4;
  const left = column(way, MARGIN, height, false);
  const right = column(finals, MARGIN + BOX.width + GUTTER, height, true);
  const boxes = [...left, ...right];
  const boxOf = new Map(boxes.map((box) => [box.stage, box]));

  const arrows = drawn.flatMap(([from, to]) => {
    const source = boxOf.get(from);
    const target = boxOf.get(to);
    return source === undefined || target === undefined
      ? []
      : [arrow(source, target, (rowOf.get(to) ?? 0) - (rowOf.get(from) ?? 0))];
  });

  return {
    width: MARGIN + BOX.width + (finals.length > 0 ? GUTTER + BOX.width : 0) + 4,
    height,
    boxes,
    arrows,
  };
}

/**
 * Stages that do not end, from the initial one, each after everything that leads to it without
 * going back.
 */
function orderOf(
  machine: StageMachine,
  transitions: StageMachine["transitions"],
  ends: ReadonlySet<string>,
): string[] {
  const order: string[] = [];
  const visited = new Set<string>();

  const visit = (stage: string): void => {
    if (visited.has(stage) || ends.has(stage)) return;

    visited.add(stage);
    for (const [from, to] of transitions) if (from === stage) visit(to);
    order.unshift(stage);
  };

  visit(machine.initial);

  for (const [from, to] of transitions) {
    for (const stage of [from, to]) {
      if (!visited.has(stage) && !ends.has(stage)) order.push((visited.add(stage), stage));
    }
  }

  return order;
}

function meanSource(
  stage: string,
  transitions: StageMachine["transitions"],
  rowOf: ReadonlyMap<string, number>,
): number {
  const rows = transitions.filter(([, to]) => to === stage).map(([from]) => rowOf.get(from) ?? 0);
  return rows.length === 0
    ? Number.MAX_SAFE_INTEGER
    : rows.reduce((sum, row) => sum + row, 0) / rows.length;
}

function column(
  stages: readonly string[],
  x: number,
  height: number,
  terminal: boolean,
): StageBox[] {
  const free = height - 4 - stages.length * BOX.height;
  const gap = stages.length > 1 ? free / (stages.length - 1) : 0;
  const top = stages.length > 1 ? 2 : 2 + free / 2;

  return stages.map((stage, index) => ({
    stage,
    x,
    y: top + index * (BOX.height + gap),
    width: BOX.width,
    height: BOX.height,
    terminal,
  }));
}

function arrow(from: StageBox, to: StageBox, rows: number): StageArrow {
  const names = { from: from.stage, to: to.stage };
  if (to.terminal) {
    const [x1, y1, x2, y2] = [
      from.x + from.width,
      from.y + from.height / 2,
      to.x - 5,
      to.y + to.height / 2,
    ];
    const bend = (x2 - x1) / 2;
    return {
      ...names,
      back: false,
      path: `M${x1} ${y1} C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`,
    };
  }

  if (rows === 1) {
    const x = from.x + from.width / 2;
    return { ...names, back: false, path: `M${x} ${from.y + from.height} L${x} ${to.y - 5}` };
  }

  const back = rows < 0;
  const bulge = Math.min(MARGIN - 4, 12 + Math.abs(rows) * 9);
  const y1 = from.y + from.height / 2 + (back ? -5 : 5);
  const y2 = to.y + to.height / 2 + (back ? 5 : -5);

  return {
    ...names,
    back,
    path: `M${from.x} ${y1} C${from.x - bulge} ${y1} ${from.x - bulge} ${y2} ${to.x - 5} ${y2}`,
  };
}
