import { web } from "dure/channels";
import { defineTeam } from "dure/team";
import faq from "./faq/service.ts";
import meetingRoom from "./meeting-room/service.ts";
import minimal from "./minimal/service.ts";
import { examplesModel } from "./offline.ts";
import { roomAgents } from "./rooms/agents.ts";
import { roomModels } from "./rooms/offline.ts";
import transfer from "./transfer/service.ts";

export default defineTeam({
  name: "두레",
  locale: "ko",
  timeZone: "Asia/Seoul",
  // Without a key the first of these answers. DURE_MODEL=anthropic:… names a real model.
  offlineModels: [examplesModel, ...roomModels],
  agents: roomAgents(),
  rooms: { adapters: [web()], channels: { general: { defaultAgent: "ruda" } } },
  services: { transfer, faq, minimal, "meeting-room": meetingRoom, declared: "./declared" },
});
