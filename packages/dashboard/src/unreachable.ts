import { codeOf } from "dure/client";

/** A request that found no server. */
export class Unreachable extends TypeError {
  constructor(cause: unknown) {
    super("The server cannot be reached.", { cause });
    this.name = "Unreachable";
  }
}

/** Makes a request. Throws `Unreachable` where there is no answer. */
export const reach: typeof fetch = async (input, init) => {
  try {
    return await fetch(input, init);
  } catch (error) {
    throw error instanceof TypeError ? new Unreachable(error) : error;
  }
};

/** Defects that stand in the console already. */
const logged = new WeakSet<Error>();

/** The code of an error that no server told: of the way there, or of the page itself. */
export function ownCode(error: unknown): string {
  if (error instanceof Unreachable) return "UNREACHABLE";
  const code = codeOf(error);
  if (code !== undefined) return code;
  if (error instanceof Error && !logged.has(error)) {
    logged.add(error);
    // For the person who reports it: the words on the page name no line.
    console.error(error);
  }

  return "PAGE_DEFECT";
}
