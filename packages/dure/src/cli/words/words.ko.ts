import { SERVER_KOREAN } from "../../korean/index.ts";
import { TERMINAL_KOREAN } from "../../korean/terminal-korean.ts";
import { ADMIN_KO } from "./admin.ko.ts";
import { CHECK_KO } from "./check.ko.ts";
import { EVAL_KO } from "./eval.ko.ts";
import { GENERAL_KO } from "./general.ko.ts";
import { HELP_KO } from "./help.ko.ts";
import { PLANS_KO } from "./plans.ko.ts";
import { START_KO } from "./start.ko.ts";
import { WORK_KO } from "./work.ko.ts";
import { WORDS_EN } from "./words.en.ts";
import type { CliWords } from "./words.ts";

export const WORDS_KO: CliWords = {
  language: "ko",
  general: GENERAL_KO,
  start: START_KO,
  check: CHECK_KO,
  eval: EVAL_KO,
  plans: PLANS_KO,
  work: WORK_KO,
  admin: ADMIN_KO,
  help: {
    sentence: (english) => HELP_KO[english] ?? english,
    choices: (values) => `고를 수 있는 값: ${values}`,
    fallback: (value) => `기본: ${value}`,
    examples: () => "예",
  },
  said: (english) => TERMINAL_KOREAN.text(english) ?? english,
  reason: (because) =>
    TERMINAL_KOREAN.text(because.message) ?? SERVER_KOREAN.reason(because) ?? because.message,
  usage: (english) => {
    const sentence = english
      .replace(/^error: /, "")
      .replaceAll(/\s*\n\s*/g, " ")
      .trim();
    const said = TERMINAL_KOREAN.text(sentence);
    return said === undefined ? english : `${said}\n`;
  },
  refusal: (refusal) => {
    const said = TERMINAL_KOREAN.refusal(refusal);
    return said === undefined ? WORDS_EN.refusal(refusal) : { ...said, label: GENERAL_KO.hint };
  },
};
