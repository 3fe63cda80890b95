/** The Tasks extension of MCP 2026-07-28. */
export const TASKS = "io.modelcontextprotocol/tasks";

export interface Question {
  readonly method: string;
  readonly params: {
    readonly requestedSchema: { properties: { decision: { enum: readonly string[] } } };
  };
}

export interface Task {
  readonly taskId: string;
  readonly status: string;
  readonly inputRequests?: Readonly<Record<string, Question>>;
  readonly result?: { readonly isError: boolean; readonly content: readonly { text: string }[] };
}

export interface Told {
  readonly httpStatus: number;
  readonly result: Task;
  readonly error?: { readonly code: number };
}

export interface Asking {
  readonly url: string;
  readonly token?: string | undefined;
  /** Groups; default `jobs,plans`. */
  readonly tools?: string | undefined;
  readonly extensions?: Record<string, object> | undefined;
}

/**
 * A request as it goes over the wire: the official client gives `tools/call` a shape of its own,
 * which has no tasks.
 */
export async function askMcp(
  { url, token, tools = "jobs,plans", extensions = { [TASKS]: {} } }: Asking,
  method: string,
  params: Record<string, unknown>,
): Promise<Told> {
  const version = "2026-07-28";
  const headers = new Headers({
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    "mcp-protocol-version": version,
    "mcp-method": method,
    "mcp-name": String(params["taskId"] ?? params["name"] ?? params["uri"]),
  });
  if (token !== undefined) headers.set("authorization", `Bearer ${token}`);
  const response = await fetch(`${url}/mcp?tools=${tools}`, {
    method: "POST",
    headers,
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method,
      params: {
        ...params,
        _meta: {
          "io.modelcontextprotocol/protocolVersion": version,
          "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
          "io.modelcontextprotocol/clientCapabilities": {
            extensions,
            elicitation: { form: {} },
          },
        },
      },
    }),
  });
  const text = await response.text();
  const data = /^data: (.*)$/mu.exec(text)?.[1] ?? text;
  return { ...(JSON.parse(data) as Told), httpStatus: response.status };
}
