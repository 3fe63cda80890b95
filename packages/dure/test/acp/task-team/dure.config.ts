import { chatAgent, defineService, flow } from "dure";
import { defineTeam } from "dure/team";

const helper = chatAgent({ name: "helper", prompt: "Help." });
const desk = defineService({
  name: "desk",
  agents: { helper },
  flows: { DEFAULT: flow(async (turn) => turn.done({ message: "Here." })) },
});

export default defineTeam({ name: "tasks", model: "offline:echo", services: { desk } });
