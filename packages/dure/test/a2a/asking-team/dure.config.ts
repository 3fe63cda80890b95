import { remoteService } from "dure";
import { defineTeam } from "dure/team";

const { A2A_URL = "" } = process.env;

/** Hands all that it is asked to the team behind `A2A_URL`. */
const payments = remoteService(`${A2A_URL}/a2a/v1/payments`, {
  name: "payments",
  protocol: "a2a",
});

export default defineTeam({
  name: "asking",
  locale: "ko",
  model: "offline:echo",
  services: { payments },
});
