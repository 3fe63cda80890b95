import {
  Client,
  extractWWWAuthenticateParams,
  StreamableHTTPClientTransport,
  type FetchLike,
} from "@modelcontextprotocol/client";
import { fetchAtOrigin } from "../kernel/fetch-at-origin.ts";

/** What a server wants of a client without a token. */
export type Challenge = ReturnType<typeof extractWWWAuthenticateParams>;

/**
 * Asks as a client does, up to the list of tools, until the server wants a login: some let a stranger
 * greet them. Empty where it wants none. Throws where the server gives no answer at all.
 */
export async function firstChallenge(url: string, signal: AbortSignal): Promise<Challenge> {
  const answers: Response[] = [];
  const listen: FetchLike = async (address, init) => {
    const answer = await fetchAtOrigin(address, init);
    answers.push(answer);
    return answer;
  };
  const client = new Client(
    { name: "dure", version: "login" },
    { versionNegotiation: { mode: "auto" } },
  );
  try {
    await client.connect(new StreamableHTTPClientTransport(new URL(url), { fetch: listen }), {
      signal,
    });
    await client.listTools(undefined, { signal });
  } catch (error) {
    // An answer that is no MCP may still say how to log in.
    if (answers.length === 0 || signal.aborted) throw error;
  } finally {
    await client.close();
  }
  const refusal = answers.find(({ headers }) => headers.has("www-authenticate"));

  return refusal ? extractWWWAuthenticateParams(refusal) : {};
}
