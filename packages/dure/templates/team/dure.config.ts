import { defineTeam } from "dure/team";
import minimal from "./services/minimal/service.ts";

export default defineTeam({
  name: "{{TEAM_TITLE}}",
  locale: "{{LOCALE}}", // texts of buttons and errors: "en" or "ko"
  timeZone: "{{TIME_ZONE}}",
  // {{MODEL}}

  // {{AGENTS}}
  services: { minimal },
});
