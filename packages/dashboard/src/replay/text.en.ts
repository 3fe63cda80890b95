import type { ReplayText } from "./text.ko.ts";

export const en: ReplayText = {
  title: "Replay",
  lead:
    "Makes a stored answer again with another model or prompt, beside the first. No tool is really " +
    "called: what it answered then is used again. Only the model costs money.",
  toChats: "To the conversations",
  toChat: "Back to the conversation",
  said: "The message",
  bySystem: "dure began this by itself, without a message.",
  model: "Model",
  modelHint: (names) => `Left empty, as it is set now: ${names}`,
  prompt: (agent) => `Prompt of ${agent}`,
  promptHint: "A change counts for this replay only. The file stays as it is.",
  isCustom: (agent) => `${agent} is an agent of code: its outcome of then is used.`,
  noAgents: "No agent with a model took part in this answer.",
  run: "Replay",
  stop: "Stop",
  running: "The model is answering",
  stored: "Stored answer",
  replayed: "Replayed answer",
  none: "Not tried yet.",
  empty: "Nothing was said.",
  time: "Time",
  tokens: "Tokens",
  tokensOf: (taken, given) =>
    `${taken.toLocaleString("en")} in · ${given.toLocaleString("en")} out`,
  cost: "Cost",
  noPrice: "no known price",
  calls: "Tool calls",
  recorded: "answered as it did then",
  refused: "not made: there was no such call then",
  ended: (code) => `It ended here (${code})`,
  otherWay:
    "It went another way than the turn did. What has no record of then is not done, so this is what " +
    "was said up to here.",
  loading: "Loading",
  failed: "This cannot be replayed",
};
