/** The part of pino that dure uses. One line per record: what, which id, why, what next. */
export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** Says nothing; for tests that look at behaviour. */
export const silentLogger: Logger = { debug() {}, info() {}, warn() {}, error() {} };
