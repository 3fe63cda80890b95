import { jsonSchemaOf } from "../../models/json-schema.ts";
import type { ModelAnswer } from "../../models/model.ts";
import type { Agent, AgentResult } from "./agent.ts";
import type { AgentContext, CustomModelRequest } from "./agent-context.ts";
import type { AgentRunEnvironment } from "./agent-environment.ts";
import type { AgentModel } from "./agent-model.ts";
import { outcomeOf } from "./agent-output.ts";
import type { AgentTools } from "./agent-tools.ts";
import type { AgentWords } from "./agent-words.ts";
import type { Transcript } from "./work.ts";
import { markHandled, type AgentOutcome } from "../turn/turn-context.ts";

export interface CustomAgentOptions {
  readonly environment: AgentRunEnvironment;
  readonly agent: Agent;
  readonly key: string;
  /** What the agent is asked. */
  readonly message: string;
  readonly words: AgentWords;
  readonly model: AgentModel;
  readonly tools: AgentTools;
  readonly transcript: Transcript;
  readonly buildMessages: AgentContext["buildMessages"];
  readonly step: AgentContext["step"];
}

/** One run of an agent that is code: what it shows is what it yields, and calls that it makes visible. */
export class CustomAgent {
  readonly #options: CustomAgentOptions;
  /** What the person has seen, in order. */
  #shown = "";

  constructor(options: CustomAgentOptions) {
    this.#options = options;
  }

  /** The result's own message is the text; without one it is what was shown. */
  async work(): Promise<AgentOutcome> {
    const { agent } = this.#options;
    const context = this.#context();
    const result = agent.stream
      ? await this.#drain(agent.stream(context))
      : await agent.run!(context);
    const outcome = outcomeOf(result);

    return outcome.text === "" ? { ...outcome, text: this.#shown } : outcome;
  }

  async #drain(texts: AsyncGenerator<string, AgentResult>): Promise<AgentResult> {
    const { words } = this.#options;
    for (;;) {
      const next = await texts.next();

      if (next.done) {
        words.end();
        return next.value;
      }
      this.#shown += next.value;
      words.say(next.value);
    }
  }

  #context(): AgentContext {
    const { environment, key, message, tools, buildMessages, step } = this.#options;
    const { facts, memory, state, signal } = environment;
    return {
      agent: key,
      session: facts.session,
      turn: facts.turnId,
      message,
      locale: facts.locale,
      timeZone: facts.timeZone,
      state: state(),
      memory,
      signal,
      buildMessages,
      model: (request = {}) => markHandled(this.#ask(request)),
      tool: (name, input) => markHandled(tools.use(name, input)),
      answerCall: (call) => markHandled(tools.answer(call)),
      step: (name, work) => markHandled(step(name, work)),
    };
  }

  /** With the agent's messages, tools and schema, where the request does not say others. */
  async #ask({ visible = false, ...request }: CustomModelRequest): Promise<ModelAnswer> {
    const { agent, model, tools, transcript, words, buildMessages } = this.#options;
    const { schema } = agent;
    const specs = request.tools ?? [...tools.first, ...tools.named()];

    const asked = await model.ask(
      {
        ...buildMessages(),
        output: schema && { schema: jsonSchemaOf(schema) },
        ...request,
        tools: specs.length > 0 ? specs : undefined,
        toolChoice: specs.length > 0 ? request.toolChoice : undefined,
      },
      { continues: this.#shown !== "", isShown: words.areShown && visible },
    );

    const { answer } = asked;
    const { text, toolCalls } = answer;
    if (visible) this.#shown += text;
    if (toolCalls.length > 0) transcript.addCalls(toolCalls, answer);
    return answer;
  }
}
