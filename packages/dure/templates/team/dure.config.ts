import { defineTeam } from "dure/team";
import minimal from "./services/minimal/service.ts";

export default defineTeam({
  name: "{{TEAM_TITLE}}",
  locale: "en", // texts of buttons and errors: "en" or "ko"
  timeZone: "UTC",
  // Without a model everything runs offline: the agent echoes. With a key in .env: model:
  // "anthropic:claude-haiku-4-5", They talk in the room `general`; who they are stands in
  // agents/<id>/SOUL.md, how they work together in AGENTS.md.
  agents: {
    mina: { displayName: "Mina", leads: true },
    theo: { displayName: "Theo" },
  },
  services: { minimal },
});
