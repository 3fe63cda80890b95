/*
 * Asks a team once with each client family, with the retries that it has by itself. `node
 * retrying-clients.mjs <url> <where its packages are found from> <word>`: prints what each was told.
 */

const [, , url, from, word] = process.argv;
const load = async (name) => import(import.meta.resolve(name, from));
const apiKey = process.env.DURE_TOKEN;
const baseURL = `${url}/openai/v1`;
const openai = (name) => async (content) => {
  const { OpenAI } = await load(name);
  const client = new OpenAI({ apiKey, baseURL });
  const asked = { model: "till", messages: [{ role: "user", content }] };
  return (await client.chat.completions.create(asked)).choices[0].message.content;
};

const CLIENTS = {
  "openai 4": openai("openai4"),
  "openai 5": openai("openai5"),
  "openai 7": openai("openai"),
  "AI SDK": async (prompt) => {
    const { createOpenAI } = await load("@ai-sdk/openai");
    const { generateText } = await load("ai");
    const model = createOpenAI({ apiKey, baseURL }).chat("till");
    return (await generateText({ model, prompt })).text;
  },
  LangChain: async (content) => {
    const { ChatOpenAI } = await load("@langchain/openai");
    const model = new ChatOpenAI({ apiKey, model: "till", configuration: { baseURL } });
    return (await model.invoke(content)).content;
  },
  "OpenAI Agents, chat": async (content) => agents("chat_completions", content),
  "OpenAI Agents, responses": async (content) => agents("responses", content),
};

async function agents(api, content) {
  const { Agent, OpenAIProvider, Runner, setTracingDisabled } = await load("@openai/agents");
  setTracingDisabled(true);
  const useResponses = api === "responses";
  const modelProvider = new OpenAIProvider({ apiKey, baseURL, useResponses });
  const runner = new Runner({ modelProvider });
  return (await runner.run(new Agent({ name: api, model: "till" }), content)).finalOutput;
}

for (const [name, ask] of Object.entries(CLIENTS)) {
  const content = `pay ${name} ${word}`;
  const told = await ask(content).catch((error) => String(error.message ?? error).slice(0, 80));
  console.log(JSON.stringify({ name, content, told }));
}
