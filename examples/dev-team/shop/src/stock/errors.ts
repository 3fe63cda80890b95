export type StockCode = "TOO_FEW" | "NOT_ASIDE";

export class StockError extends Error {
  readonly code: StockCode;

  constructor(code: StockCode, message: string) {
    super(message);
    this.code = code;
  }
}
