import { defineTeam } from "dure/team";

export default defineTeam({
  name: "punctual",
  locale: "en",
  model: "offline:echo",
  agents: { ruda: { displayName: "Ruda" }, eden: { displayName: "Eden" } },
  rooms: { channels: { general: { defaultAgent: "ruda" } } },
  schedules: {
    tick: { cron: "* * * * *", room: "general", text: "It is {{moment}}" },
    ask: { cron: "0 0 1 1 *", agent: "ruda", target: "eden", text: "How was {{date}}?" },
    own: { cron: "0 0 1 1 *", tenant: "acme", room: "general", text: "x" },
    lost: { cron: "0 0 1 1 *", plan: "lost" },
  },
});
