/** What the tests use of the official client; it is loaded as it is. */
export interface OpenAiClient {
  readonly models: {
    list(): Promise<{ readonly data: readonly { readonly id: string }[] }>;
    retrieve(id: string): Promise<object>;
  };
  readonly chat: { readonly completions: { create: Create; runTools(body: object): Runner } };
  readonly responses: {
    create(body: object): Promise<Response>;
    stream(body: object): ResponseStream;
    retrieve(id: string, query?: object): Promise<Response>;
    delete(id: string): Promise<unknown>;
    readonly inputItems: {
      list(id: string, query?: object): Promise<{ readonly data: readonly object[] }>;
    };
  };
}

interface Runner {
  finalContent(): Promise<string | null>;
}

type Create = (
  body: object,
  options?: object,
) => Promise<Completion & CompletionStream> & {
  withResponse(): Promise<{ readonly response: globalThis.Response }>;
};

interface Completion {
  readonly id: string;
  readonly choices: readonly {
    readonly message: {
      readonly content: string;
      readonly tool_calls?: readonly { readonly id: string }[];
    };
    readonly finish_reason: string;
  }[];
}

interface CompletionStream extends AsyncIterable<Chunk> {
  readonly controller: AbortController;
}

interface Chunk {
  readonly id: string;
  readonly choices: readonly {
    readonly delta?: { readonly content?: string };
    readonly finish_reason: string | null;
  }[];
  readonly usage?: { readonly total_tokens: number } | null;
}

interface Response {
  readonly id: string;
  readonly output_text: string;
  readonly output: readonly { readonly type: string; readonly call_id?: string }[];
  readonly conversation?: { readonly id: string } | null;
}

interface ResponseStream extends AsyncIterable<{
  readonly type: string;
  readonly delta?: string;
}> {
  finalResponse(): Promise<Response>;
}

/** By a name that is no literal: the types are checked also where it is not installed. */
const PACKAGE: string = "openai";

/** The official client of OpenAI for Node, version 7. */
export async function openAiClient(options: {
  readonly apiKey: string;
  readonly baseURL: string;
  readonly maxRetries?: number;
  readonly fetch?: typeof fetch;
}): Promise<OpenAiClient> {
  const { OpenAI } = (await import(PACKAGE)) as {
    OpenAI: new (options: object) => OpenAiClient;
  };
  return new OpenAI(options);
}
