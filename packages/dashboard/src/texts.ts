import { en as agentsEn } from "./agents/text.en.ts";
import { en as auditEn } from "./audit/text.en.ts";
import { en as chatEn } from "./chat/text.en.ts";
import { en as costsEn } from "./costs/text.en.ts";
import { en as escalationsEn } from "./escalations/text.en.ts";
import { en as eventsEn } from "./events/text.en.ts";
import { en as jobsEn } from "./jobs/text.en.ts";
import { en as panelEn } from "./panel/text.en.ts";
import { en as plansEn } from "./plans/text.en.ts";
import { en as roomsEn } from "./rooms/text.en.ts";
import { en as shellEn } from "./shell/text.en.ts";
import { en as startEn } from "./start/text.en.ts";
import { en as commonEn } from "./text.en.ts";
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
import type { Language, Words } from "./words.ts";

const ko = {
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
export type Text = Words<typeof ko>;

const en: Text = {
  common: commonEn,
  agents: agentsEn,
  audit: auditEn,
  chat: chatEn,
  costs: costsEn,
  escalations: escalationsEn,
  events: eventsEn,
  jobs: jobsEn,
  panel: panelEn,
  plans: plansEn,
  rooms: roomsEn,
  shell: shellEn,
  start: startEn,
};

export const TEXTS: Readonly<Record<Language, Text>> = { ko, en };
