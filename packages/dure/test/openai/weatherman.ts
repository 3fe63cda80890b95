import type { ModelRequest } from "../../src/models/model.ts";
import type { OfflineAnswer } from "../../src/models/offline.ts";

/**
 * Calls `weather` for each city after "weather in", then says what it gave. It is rude: some words
 * make it call tools that are not there, or with arguments that are none.
 */
export function answerOf({ messages, tools = [] }: ModelRequest): OfflineAnswer {
  const last = messages.at(-1)!;
  const question = messages.findLast(({ role }) => role === "user")!;
  const text = question.role === "user" ? question.text : "";
  const results = messages
    .slice(messages.indexOf(question))
    .flatMap((one) => (one.role === "tool" && one.name === "weather" ? [one] : []));
  const good = results.filter(({ isError }) => !isError);

  if (last.role === "user") return begin(text, tools);
  if (good.length === 0) return calls("Seoul");
  if (good.some(({ result }) => JSON.stringify(result).includes("again")) && good.length < 3) {
    return calls("Jeju");
  }
  return {
    text: `It is ${good.map(({ result }) => (typeof result === "string" ? result : "odd")).join(" and ")}.`,
  };
}

function begin(text: string, tools: NonNullable<ModelRequest["tools"]>): OfflineAnswer {
  const cities = /weather in (.+)\?/.exec(text)?.[1]?.split(" and ") ?? [];
  if (cities.length === 0 || tools.every(({ name }) => name !== "weather")) {
    return { text: "Hello." };
  }
  if (text.includes("rude")) {
    const broken = { name: "weather", rawArgs: '{"city": Seoul' };
    return { toolCalls: [broken, { name: "forecast", args: { city: "Seoul" } }] };
  }
  if (text.includes("misfit")) return { toolCalls: [{ name: "weather", args: { town: 7 } }] };
  return text.startsWith("Please") ? { text: "Looking.", ...calls(...cities) } : calls(...cities);
}

function calls(...cities: readonly string[]): OfflineAnswer {
  return { toolCalls: cities.map((city) => ({ name: "weather", args: { city } })) };
}
