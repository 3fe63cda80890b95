/**
 * A list whose changed copy shares all but two short pieces with the old one: 10,000 ports change
 * 10,000 times in a run.
 */
export interface Numbered<Value> {
  readonly length: number;
  readonly pieces: readonly (readonly Value[])[];
  at(index: number): Value;
}

/**
 * Entries of a piece: about the square root of the largest plan, which makes both copies equally
 * short.
 */
const PIECE = 128;

export function numbered<Value>(values: readonly Value[]): Numbered<Value> {
  const pieces: Value[][] = [];
  for (let from = 0; from < values.length; from += PIECE) {
    pieces.push(values.slice(from, from + PIECE));
  }
  return fromPieces(pieces, values.length);
}

/** The list with another value at one place. @param index of an entry that exists. */
export function setAt<Value>(list: Numbered<Value>, index: number, value: Value): Numbered<Value> {
  const number = Math.floor(index / PIECE);
  const pieces = list.pieces.slice();
  const piece = pieces[number]!.slice();
  piece[index % PIECE] = value;
  pieces[number] = piece;
  return fromPieces(pieces, list.length);
}

function fromPieces<Value>(pieces: readonly (readonly Value[])[], length: number): Numbered<Value> {
  return { length, pieces, at: (index) => pieces[Math.floor(index / PIECE)]![index % PIECE]! };
}

/**
 * Numbers, the first one of an order on top. A leftist heap: it is never changed, only made anew,
 * and both putting in and taking out copy the logarithm of its size.
 */
export type ReadyQueue = QueueNode | undefined;
interface QueueNode {
  readonly first: number;
  /** Steps to the nearest empty place; never shorter on the left. */
  readonly depth: number;
  readonly left: ReadyQueue;
  readonly right: ReadyQueue;
}

type IsBefore = (a: number, b: number) => boolean;

export const emptyQueue: ReadyQueue = undefined;

export function putIn(queue: ReadyQueue, value: number, isBefore: IsBefore): ReadyQueue {
  return merge(queue, { first: value, depth: 1, left: undefined, right: undefined }, isBefore);
}

export function takeFirst(
  queue: ReadyQueue,
  isBefore: IsBefore,
): { readonly first: number; readonly rest: ReadyQueue } | undefined {
  return queue && { first: queue.first, rest: merge(queue.left, queue.right, isBefore) };
}

function merge(a: ReadyQueue, b: ReadyQueue, isBefore: IsBefore): ReadyQueue {
  if (!a) return b;
  if (!b) return a;
  const [top, other] = isBefore(b.first, a.first) ? [b, a] : [a, b];
  const below = merge(top.right, other, isBefore);
  const [left, right] = depthOf(top.left) >= depthOf(below) ? [top.left, below] : [below, top.left];
  return { first: top.first, depth: depthOf(right) + 1, left, right };
}

function depthOf(queue: ReadyQueue): number {
  return queue?.depth ?? 0;
}
