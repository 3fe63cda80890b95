export interface BackOff {
  /** After the first failure, milliseconds; doubled with each further one. */
  readonly firstMs: number;
  readonly maxMs: number;
}

/** The pause after so many failures in a row, at least one. Pure. */
export function backOffMs(failures: number, { firstMs, maxMs }: BackOff): number {
  return Math.min(firstMs * 2 ** (failures - 1), maxMs);
}
