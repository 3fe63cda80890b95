import { crashTeam } from "../crash-team.ts";

export default crashTeam({
  adapters: ["slack"],
  channels: { general: { ids: { slack: process.env["TEST_SLACK_CHANNEL"]! } } },
});
