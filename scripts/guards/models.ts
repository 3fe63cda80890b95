import type { Guard } from "../mutate.ts";
import { testsIn } from "./tests-in.ts";

const OPENAPI = "packages/dure/src/engine/openapi";
const openapi = testsIn(`${OPENAPI}/openapi-tools.test.ts`);
const reasoning = testsIn("packages/dure/src/engine/agent/reasoning.test.ts");
const chain = testsIn("packages/dure/src/engine/agent/model-chain.test.ts");

/** Which model is asked, and how far the document of an API reaches. */
export const MODEL_GUARDS: readonly Guard[] = [
  {
    id: "chain.refused",
    at: { file: "packages/dure/src/models/failures.ts" },
    find: 'input: row("MODEL_REQUEST_INVALID", {',
    replace: 'input: row("MODEL_REQUEST_INVALID", { fallback: true,',
    tests: chain("the next model is not asked where the first answers 400"),
    why: "a request that dure makes wrong is paid for at every model, and seen at none",
  },
  {
    id: "chain.outage",
    at: { file: "packages/dure/src/models/attempts.ts" },
    find: "outlasts?.({ error, failure, llm: plan.llm })",
    replace: "outlasts?.({ error, failure, llm })",
    tests: chain("a turn waits when all models of its chain are away"),
    why: "the outage of a model that is not asked any more stays open for ever",
  },
  {
    id: "reasoning.own",
    at: { file: "packages/dure/src/models/reasoning.ts" },
    find: "if (!llm || reasoning?.by !== modelName(llm)) return [];",
    replace: "if (!llm || !reasoning) return [];",
    tests: reasoning("the thinking of one model is not sent to the next one of its chain"),
    why: "what one provider's model has thought is sent to another provider",
  },
  {
    id: "reasoning.order",
    at: { file: "packages/dure/src/models/reasoning.ts" },
    find: "reasoning.parts.filter(({ callsBefore = 0 }) => callsBefore === after);",
    replace: "reasoning.parts.filter(() => after === 0);",
    tests: testsIn("packages/dure/src/models/asking.test.ts")(
      "what a model of OpenAI's Responses thought between two calls goes back between them",
    ),
    why: "a provider refuses each turn whose model thought between two calls",
  },
  {
    id: "reasoning.bare",
    at: { file: "packages/dure/src/models/reasoning.ts" },
    find: 'if (llm.provider !== "anthropic" || !isToThink(llm)) return true;',
    replace: "if (llm !== undefined) return true;",
    tests: reasoning("goes on after a person's yes"),
    why: "a turn that goes on after a yes is refused by Anthropic, for ever",
  },
  {
    id: "reasoning.turn",
    at: { file: "packages/dure/src/engine/agent/work.ts" },
    find: "const { reasoning: _, ...kept } = message;",
    replace: "const kept = message;",
    tests: reasoning("and no person reads it"),
    why: "what a model has thought is stored with the session",
  },
  {
    id: "openapi.origin",
    at: { file: `${OPENAPI}/openapi-tools.ts` },
    find: "if (given === undefined && url && base.origin !== url.origin) {",
    replace: "if (given === undefined && url && base.origin === undefined) {",
    tests: openapi("was read from an address sends no key to another origin"),
    why: "a document that others write has the key of an API sent to them",
  },
  {
    id: "openapi.path",
    at: { file: `${OPENAPI}/request.ts` },
    find: 'if (text === "" || /^\\.{1,2}$/.test(text)) {',
    replace: "if (text === undefined) {",
    tests: openapi("whose argument would lead out of its path"),
    why: "a model calls an operation that it was not given, by an argument of dots",
  },
  {
    id: "openapi.secret",
    at: { file: `${OPENAPI}/request.ts` },
    find: 'text.replaceAll(secret, "[secret]")',
    replace: "text",
    tests: openapi("fails with words, without the key"),
    why: "a server that says back what it got shows the key to a model",
  },
  {
    id: "openapi.answer",
    at: { file: `${OPENAPI}/read-bounded.ts` },
    find: "if (bytes > most) break;",
    replace: "",
    tests: openapi("is larger than 16 MB and never ends is not read to its end"),
    why: "a server that never stops fills the memory",
  },
  {
    id: "openapi.headers",
    at: { file: `${OPENAPI}/operations.ts` },
    find: 'if (place === "header" && OWN_HEADERS.test(name)) {',
    replace: 'if (place === "nowhere") {',
    tests: openapi("would have a model set a header of the connection"),
    why: "a model sets the headers that decide where a request ends",
  },
];
