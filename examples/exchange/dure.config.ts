import { defineTeam } from "dure/team";
import minimal from "../minimal/service.ts";

/** Two agents that settle something between themselves: `dure jobs ask ruda seum "토론: …"`. */
export default defineTeam({
  name: "배포 회의",
  locale: "ko",
  timeZone: "Asia/Seoul",
  model: "offline:minimal",
  offlineModels: async () => (await import("./offline.ts")).exchangeModels,
  agents: {
    ruda: { displayName: "루다", leads: true, card: { llm: "offline:ruda" } },
    seum: { displayName: "세움", card: { llm: "offline:seum" } },
  },
  jobs: { allow: ["ruda -> seum"] },
  services: { minimal },
});
