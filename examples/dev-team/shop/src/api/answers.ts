export interface Answer {
  readonly status: number;
  readonly body: unknown;
}

export function failure(status: number, error: string, message: string): Answer {
  return { status, body: { error, message } };
}
