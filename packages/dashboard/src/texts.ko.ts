import { ko as agentsKo } from "./agents/text.ko.ts";
import { ko as auditKo } from "./audit/text.ko.ts";
import { ko as chatKo } from "./chat/text.ko.ts";
import { ko as costsKo } from "./costs/text.ko.ts";
import { ko as escalationsKo } from "./escalations/text.ko.ts";
import { ko as eventsKo } from "./events/text.ko.ts";
import { ko as jobsKo } from "./jobs/text.ko.ts";
import { ko as panelKo } from "./panel/text.ko.ts";
import { ko as plansKo } from "./plans/text.ko.ts";
import { ko as roomsKo } from "./rooms/text.ko.ts";
import { ko as shellKo } from "./shell/text.ko.ts";
import { ko as startKo } from "./start/text.ko.ts";
import { ko as commonKo } from "./text.ko.ts";
import type { WordsOf } from "./words.ts";

export const ko = {
  common: commonKo,
  agents: agentsKo,
  audit: auditKo,
  chat: chatKo,
  costs: costsKo,
  escalations: escalationsKo,
  events: eventsKo,
  jobs: jobsKo,
  panel: panelKo,
  plans: plansKo,
  rooms: roomsKo,
  shell: shellKo,
  start: startKo,
};

/** The words of every page, in one language. */
export type Text = WordsOf<typeof ko>;
