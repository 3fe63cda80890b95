/*
 * Asks a team once with each client family, with the retries that it has by itself. `node
 * retrying-clients.mjs <url> <where its packages are found from> <word> [answer]`: prints what each
 * was told. With an answer each is asked for one first, and says it in the next request of the same
 * conversation.
 */

const [, , url, from, word, answer] = process.argv;
const load = async (name) => import(import.meta.resolve(name, from));
const apiKey = process.env.DURE_TOKEN;
const baseURL = `${url}/openai/v1`;

/** A conversation that `user` names. A request without an answer names none. */
const openai = (name) => async (user) => {
  const { OpenAI } = await load(name);
  const client = new OpenAI({ apiKey, baseURL });
  return async (content) => {
    const asked = { model: "till", user, messages: [{ role: "user", content }] };
    return (await client.chat.completions.create(asked)).choices[0].message.content;
  };
};

const CLIENTS = {
  "openai 4": openai("openai4"),
  "openai 5": openai("openai5"),
  "openai 7": openai("openai"),
  "AI SDK": async (user) => {
    const { createOpenAI } = await load("@ai-sdk/openai");
    const { generateText } = await load("ai");
    const model = createOpenAI({ apiKey, baseURL }).chat("till");
    const providerOptions = user === undefined ? undefined : { openai: { user } };
    return async (prompt) => (await generateText({ model, prompt, providerOptions })).text;
  },
  LangChain: async (user) => {
    const { ChatOpenAI } = await load("@langchain/openai");
    const modelKwargs = user === undefined ? undefined : { user };
    const options = { apiKey, model: "till", configuration: { baseURL }, modelKwargs };
    const model = new ChatOpenAI(options);
    return async (content) => (await model.invoke(content)).content;
  },
  "OpenAI Agents, chat": async (user) => agents("chat_completions", user),
  "OpenAI Agents, responses": async () => agents("responses"),
};

async function agents(api, user) {
  const { Agent, OpenAIProvider, Runner, setTracingDisabled } = await load("@openai/agents");
  setTracingDisabled(true);
  const useResponses = api === "responses";
  const modelProvider = new OpenAIProvider({ apiKey, baseURL, useResponses });
  const runner = new Runner({ modelProvider });
  const modelSettings = user === undefined ? {} : { providerData: { user } };
  const agent = new Agent({ name: api, model: "till", modelSettings });
  let previousResponseId;
  return async (content) => {
    const result = await runner.run(agent, content, useResponses ? { previousResponseId } : {});
    previousResponseId = result.lastResponseId;
    return result.finalOutput;
  };
}

for (const [name, open] of Object.entries(CLIENTS)) {
  const content = `pay ${name} ${word}`;
  const user = answer === undefined ? undefined : content.replaceAll(/[^a-z0-9]+/giu, "-");
  const say = await open(user);
  const told = (words) => say(words).catch((error) => String(error.message ?? error).slice(0, 80));
  const first = await told(content);
  const last = answer === undefined ? first : await told(answer);
  console.log(JSON.stringify({ name, content, asked: first, told: last }));
}
