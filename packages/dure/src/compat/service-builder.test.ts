import { expect, test } from "vitest";
import { z } from "zod";
import { DureError } from "../kernel/errors.ts";
import { chatAgent } from "../engine/agent/agent.ts";
import { defineService, type FlowHandler } from "../engine/service/service.ts";
import { ServiceBuilder } from "./service-builder.ts";

// oxlint-disable-next-line require-yield
const answer: FlowHandler = async function* () {
  return { message: "hi" };
};

test("the builder gives what defineService gives", () => {
  const helper = chatAgent({ name: "helper", prompt: "Help." });
  const hook = async (): Promise<void> => {};
  const onError = (): string => "sorry";

  const built = new ServiceBuilder("faq")
    .about({ title: "FAQ", version: "3" })
    .agent("helper", helper)
    .flow("DEFAULT", answer)
    .memory({ keepRecentTurns: 2 })
    .memoryPrompts({ summary: "{memory_block} {dialog}" })
    .sessions({ busy: "reject" })
    .hook("mail", hook)
    .onError(onError)
    .build();

  expect(built).toEqual(
    defineService({
      name: "faq",
      title: "FAQ",
      version: "3",
      agents: { helper },
      flows: { DEFAULT: answer },
      memory: { keepRecentTurns: 2, summaryPrompt: "{memory_block} {dialog}" },
      sessions: { busy: "reject" },
      hooks: { mail: hook },
      onError,
    }),
  );
});

test("the builder takes a prompt that begins a summary, and one that folds into it", () => {
  const prompts = { first: "{dialog}", summary: "{memory_block} {dialog}" };

  const { memory } = new ServiceBuilder("faq")
    .flow("DEFAULT", answer)
    .memoryPrompts(prompts)
    .build();

  expect(memory?.summaryPrompt).toEqual({ first: "{dialog}", fold: "{memory_block} {dialog}" });
});

test("names of cards are found in the registries", () => {
  const Answer = z.object({ action: z.string(), message: z.string() });

  const { agents } = new ServiceBuilder("faq")
    .schemas({ Answer })
    .validators({ polite: () => undefined })
    .agent("faq", { prompt: "Answer.", card: { policy: { schema: "Answer", validate: "polite" } } })
    .flow("DEFAULT", answer)
    .build();

  expect(agents["faq"]).toMatchObject({
    kind: "conversational",
    schema: Answer,
    prompt: "Answer.",
  });
});

test("all that is missing is named at once", () => {
  const builder = new ServiceBuilder("faq")
    .classes({ FaqAgent: (parts) => chatAgent(parts) })
    .agent("faq", { class: "FaqAgnt" })
    .agent("slot", { class: "conversational" })
    .agent("help", { card: { tools: ["lookUp"] } })
    .flow("DEFAULT", answer);

  expect(() => builder.build()).toThrow(DureError);
  expect(() => builder.build()).toThrow(
    /agents\.faq\.class: .*"FaqAgnt".*did you mean "FaqAgent"\?\n.*agents\.slot\.class: .*needs a schema.*\n.*agents\.help\.card\.tools\.0: names the tool "lookUp"/,
  );
});
