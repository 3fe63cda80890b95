/** `npm run example:minimal`: one agent, two turns, memory. */
import minimal from "../minimal/service.ts";
import { minimalModel } from "../minimal/offline.ts";
import { runExample } from "./example.ts";

await runExample(
  "minimal",
  {
    name: "minimal",
    locale: "ko",
    model: "offline:minimal",
    offlineModels: [minimalModel],
    services: { minimal },
  },
  async ({ say, check, team }) => {
    const first = await say("안녕하세요");
    check("the agent answers", first.message.includes("안녕하세요") && first.error === undefined);
    const second = await say("두 번째 말이에요");
    check("it knows that this is not the first turn", !second.message.startsWith("안녕하세요!"));
    const [session] = (await team.engine.sessions({})).items;
    const { history } = await team.engine.session(session!.sessionId);
    check("both turns are stored", history.length === 4);
  },
);
