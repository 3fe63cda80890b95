import { offlineModel } from "dure";
import { defineTeam } from "dure/team";

/** A process with TEST_HANGS never ends an answer. */
const slow = offlineModel("slow", async (_request, { signal }) => {
  if (process.env["TEST_HANGS"] === undefined) return "It is done.";

  return new Promise<string>((_, reject) =>
    signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true }),
  );
});

export default defineTeam({
  name: "slow",
  locale: "en",
  model: "offline:slow",
  offlineModels: [slow],
  agents: { ruda: { displayName: "Ruda" } },
});
