import { defineTeam } from "dure/team";
import minimal from "./services/minimal/service.ts";

export default defineTeam({
  name: "{{TEAM_TITLE}}",
  locale: "{{LOCALE}}", // 버튼과 오류의 언어: "ko" 또는 "en"
  timeZone: "{{TIME_ZONE}}",
  // {{MODEL}}

  // {{AGENTS}}
  services: { minimal },
});
