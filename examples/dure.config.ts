import { web } from "dure/channels";
import { defineTeam } from "dure/team";
import faq from "./faq/service.ts";
import meetingRoom from "./meeting-room/service.ts";
import minimal from "./minimal/service.ts";
import { roomAgents } from "./rooms/agents.ts";
import transfer from "./transfer/service.ts";

export default defineTeam({
  name: "두레",
  locale: "ko",
  timeZone: "Asia/Seoul",
  // Loaded where there is no key: the first one answers. DURE_MODEL=anthropic:… names a real model.
  offlineModels: async () => (await import("./offline.ts")).exampleModels,
  agents: roomAgents(),
  rooms: { adapters: [web()], channels: { general: { defaultAgent: "ruda" } } },
  services: { transfer, faq, minimal, "meeting-room": meetingRoom, declared: "./declared" },
});
