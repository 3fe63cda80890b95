import { web } from "dure/channels";
import { defineTeam } from "dure/team";
import faq from "./faq/service.ts";
import minimal from "./minimal/service.ts";
import { examplesModel } from "./offline.ts";
import { roomAgents } from "./rooms/agents.ts";
import { roomModels } from "./rooms/offline.ts";
import transfer from "./transfer/service.ts";

/** With a key the examples ask its provider; without one, the functions of this folder. */
const hasKey = Boolean(process.env["ANTHROPIC_API_KEY"] ?? process.env["OPENAI_API_KEY"]);

export default defineTeam({
  name: "두레",
  locale: "ko",
  timeZone: "Asia/Seoul",
  // With a key: DURE_MODEL=anthropic:… names another model than the default.
  ...(hasKey ? {} : { model: "offline:examples" }),
  offlineModels: [examplesModel, ...roomModels],
  agents: roomAgents(hasKey),
  rooms: { adapters: [web()], channels: { general: { defaultAgent: "ruda" } } },
  services: { transfer, faq, minimal, declared: "./declared" },
});
