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
import type { Text } from "./texts.ko.ts";

export const en: Text = {
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
