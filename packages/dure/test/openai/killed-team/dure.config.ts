import { offlineModel } from "dure";
import { defineTeam } from "dure/team";
import { answerOf } from "../weatherman.ts";

const { CALLER_HANGS = "" } = process.env;

/** With `CALLER_HANGS` its model never answers after a message of this role. */
export default defineTeam({
  name: "killed",
  locale: "en",
  model: "offline:weatherman",
  offlineModels: [
    offlineModel("weatherman", (request, { signal }) => {
      if (request.messages.at(-1)?.role !== CALLER_HANGS) return answerOf(request);
      process.stderr.write("the model hangs\n");
      return new Promise((_, reject) =>
        signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true }),
      );
    }),
  ],
  services: {},
  agents: { ruda: { displayName: "Ruda" } },
});
