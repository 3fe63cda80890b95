import { crashTeam } from "../crash-team.ts";

export default crashTeam({
  adapters: ["discord"],
  channels: { general: { discord: process.env["TEST_DISCORD_CHANNEL"]! } },
});
