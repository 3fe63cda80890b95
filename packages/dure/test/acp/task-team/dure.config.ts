import { chatAgent, defineService, flow } from "dure";
import { defineTeam } from "dure/team";

const helper = chatAgent({ name: "helper", prompt: "Help." });
const desk = defineService({
  name: "desk",
  agents: { helper },
  flows: { DEFAULT: flow(async (turn) => turn.done({ message: "Here." })) },
});

const locale = process.env["ACP_LOCALE"] === "ko" ? "ko" : "en";

export default defineTeam({ name: "tasks", locale, model: "offline:echo", services: { desk } });
