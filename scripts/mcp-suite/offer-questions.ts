import {
  acceptedContent,
  CLIENT_CAPABILITIES_META_KEY,
  createRequestStateCodec,
  inputRequired,
  type CallToolResult,
  type ClientCapabilities,
  type InputRequests,
  type InputRequiredResult,
  type McpServer,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { z } from "zod";

/*
 * Tools and a prompt of MCP's conformance suite that ask something back before they answer.
 */

interface Round {
  /** Rounds before this one. */
  readonly step: number;
}

/** What a client brings back from the round before is sealed; one that changed it is refused. */
export const rounds = createRequestStateCodec<Round>({ key: crypto.randomUUID() });

type Answer = CallToolResult | InputRequiredResult;

const NAME = z.object({ name: z.string() });
const OK = z.object({ ok: z.boolean() });
const COLOR = z.object({ color: z.string() });

const askName = inputRequired.elicit({ message: "What is your name?", requestedSchema: NAME });
const askOk = inputRequired.elicit({ message: "Please confirm", requestedSchema: OK });
const askRoots = inputRequired.listRoots();

const sample = (words: string, maxTokens: number) =>
  inputRequired.createMessage({
    messages: [{ role: "user", content: { type: "text", text: words } }],
    maxTokens,
  });

const said = (text: string): CallToolResult => ({ content: [{ type: "text", text }] });

/** Each by its name behind `test_input_required_result_`. */
const ASKING: Readonly<Record<string, (context: ServerContext) => Answer | Promise<Answer>>> = {
  elicitation: ({ mcpReq }) => {
    const answer = acceptedContent(mcpReq.inputResponses, "user_name", NAME);
    return answer ? said(`Hello, ${answer.name}!`) : ask({ user_name: askName });
  },

  sampling: ({ mcpReq }) => {
    const answer = mcpReq.inputResponses?.["capital_question"];
    if (answer !== undefined) return said(JSON.stringify(answer));
    return ask({ capital_question: sample("What is the capital of France?", 100) });
  },

  list_roots: ({ mcpReq }) => {
    const answer = mcpReq.inputResponses?.["client_roots"];
    return answer === undefined ? ask({ client_roots: askRoots }) : said(JSON.stringify(answer));
  },

  request_state: (context) => {
    const round = roundOf(context);
    const answer = acceptedContent(context.mcpReq.inputResponses, "confirm", OK);
    return round && answer ? said("state-ok") : ask({ confirm: askOk }, 1);
  },

  tampered_state: (context) => {
    const round = roundOf(context);
    return round ? said("state-ok") : ask({ confirm: askOk }, 1);
  },

  multiple_inputs: (context) => {
    const asked = {
      user_name: askName,
      greeting: sample("Generate a greeting", 50),
      client_roots: askRoots,
    };
    const round = roundOf(context);
    const answers = context.mcpReq.inputResponses ?? {};
    const isWhole = Object.keys(asked).every((name) => answers[name] !== undefined);
    return round && isWhole ? said(JSON.stringify(answers)) : ask(asked, 1);
  },

  multi_round: (context) => {
    const { step = 0 } = roundOf(context) ?? {};
    const answers = context.mcpReq.inputResponses;
    if (step === 2 && acceptedContent(answers, "step2", COLOR)) return said("Done.");
    if (step === 1 && acceptedContent(answers, "step1", NAME)) {
      const message = "Step 2: What is your favorite color?";
      return ask({ step2: inputRequired.elicit({ message, requestedSchema: COLOR }) }, 2);
    }
    const message = "Step 1: What is your name?";
    return ask({ step1: inputRequired.elicit({ message, requestedSchema: NAME }) }, 1);
  },

  capabilities: (context) => {
    const { sampling, elicitation } = capabilitiesOf(context);
    const asked: InputRequests = {};
    if (sampling) asked["sampled"] = sample("Say something", 10);
    if (elicitation) asked["name"] = askName;
    return Object.keys(asked).length === 0 ? said("Nothing to ask with.") : ask(asked);
  },
};

/** Adds them to a server. */
export function offerQuestions(server: McpServer): void {
  for (const [name, answer] of Object.entries(ASKING)) {
    const tool = `test_input_required_result_${name}`;
    server.registerTool(tool, { description: "Asks before it answers." }, answer);
  }
  // A client that can't be asked this is refused by the SDK.
  server.registerTool(
    "test_missing_capability",
    { description: "Needs a client that samples." },
    () => ask({ sampled: sample("Say something", 10) }),
  );
  server.registerTool(
    "test_streaming_elicitation",
    { description: "Asks before it answers." },
    ASKING["elicitation"]!,
  );
  const context = z.object({ context: z.string() });
  server.registerPrompt(
    "test_input_required_result_prompt",
    { description: "Asks before it answers." },
    ({ mcpReq }) => {
      const answer = acceptedContent(mcpReq.inputResponses, "user_context", context);
      if (answer) {
        return { messages: [{ role: "user", content: { type: "text", text: answer.context } }] };
      }
      const message = "What context should the prompt use?";
      const requestedSchema = context;
      return inputRequired({
        inputRequests: { user_context: inputRequired.elicit({ message, requestedSchema }) },
      });
    },
  );
}

/** @param step What the client brings back, sealed; without it nothing is. */
function ask(inputRequests: InputRequests): InputRequiredResult;
function ask(inputRequests: InputRequests, step: number): Promise<InputRequiredResult>;
function ask(
  inputRequests: InputRequests,
  step?: number,
): InputRequiredResult | Promise<InputRequiredResult> {
  if (step === undefined) return inputRequired({ inputRequests });
  return rounds
    .mint({ step })
    .then((requestState) => inputRequired({ inputRequests, requestState }));
}

/** Undefined in the first round. */
function roundOf({ mcpReq }: ServerContext): Round | undefined {
  return mcpReq.requestState<Round>();
}

function capabilitiesOf({ mcpReq }: ServerContext): ClientCapabilities {
  const envelope: Readonly<Record<string, unknown>> | undefined = mcpReq.envelope;
  const declared = envelope?.[CLIENT_CAPABILITIES_META_KEY] as ClientCapabilities | undefined;
  return declared ?? {};
}
