import { defineTeam } from "dure/team";
import minimal from "./services/minimal/service.ts";

export default defineTeam({
  name: "{{TEAM_TITLE}}",
  locale: "en", // texts of buttons and errors: "en" or "ko"
  timeZone: "UTC",
  // Without a model agents repeat what they are told. Put a key into .env, then say which model:
  // model: "anthropic:claude-haiku-4-5",

  // Agents talk in the room `general`. Who they are stands in agents/<id>/SOUL.md, how they work
  // together in AGENTS.md.
  agents: {
    mina: { displayName: "Mina", leads: true },
    theo: { displayName: "Theo" },
  },
  services: { minimal },
});
