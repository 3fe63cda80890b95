import { ADMIN_EN } from "./admin.en.ts";
import { CHECK_EN } from "./check.en.ts";
import { EVAL_EN } from "./eval.en.ts";
import { GENERAL_EN } from "./general.en.ts";
import { PLANS_EN } from "./plans.en.ts";
import { START_EN } from "./start.en.ts";
import { WORK_EN } from "./work.en.ts";
import type { CliWords } from "./words.ts";

export const WORDS_EN: CliWords = {
  language: "en",
  general: GENERAL_EN,
  start: START_EN,
  check: CHECK_EN,
  eval: EVAL_EN,
  plans: PLANS_EN,
  work: WORK_EN,
  admin: ADMIN_EN,
  help: {
    sentence: (english) => english,
    choices: (values) => `choices: ${values}`,
    fallback: (value) => `default: ${value}`,
    examples: (count) => (count === 1 ? "Example" : "Examples"),
  },
  said: (english) => english,
  reason: ({ message }) => message,
  usage: (english) => english,
  refusal: ({ message, hint }) => ({ message, hint, label: GENERAL_EN.hint }),
};
