import { defineTeam } from "dure";
import faq from "./faq/service.ts";
import minimal from "./minimal/service.ts";
import { examplesModel } from "./offline.ts";
import transfer from "./transfer/service.ts";

export default defineTeam({
  name: "두레",
  locale: "ko",
  timeZone: "Asia/Seoul",
  // Without a key: functions of this folder. With one in .env: DURE_MODEL=anthropic:claude-haiku-4-5
  model: "offline:examples",
  offlineModels: [examplesModel],
  services: { transfer, faq, minimal, declared: "./declared" },
});
