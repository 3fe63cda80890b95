import { createHash } from "node:crypto";
import { offlineModel, type Json } from "dure";
import { defineTeam } from "dure/team";
import { answerOfClerk } from "../clerk.ts";
import { retailService } from "../service.ts";

const { RETAIL_DESK = "" } = process.env;

async function call(path: string, body: object): Promise<Json> {
  const answer = await fetch(RETAIL_DESK + path, { method: "POST", body: JSON.stringify(body) });
  return (await answer.json()) as Json;
}

const clerk = offlineModel("clerk", async (request) => {
  const read = createHash("sha256").update(JSON.stringify(request.messages)).digest("hex");
  await call("/model", { key: read });
  return answerOfClerk(request);
});

export default defineTeam({
  name: "retail",
  locale: "en",
  model: "offline:clerk",
  offlineModels: [clerk],
  services: {
    retail: retailService({
      read: (asked) => call("/read", asked),
      write: (asked) => call("/write", asked),
      find: (asked) => call("/find", asked),
    }),
  },
});
