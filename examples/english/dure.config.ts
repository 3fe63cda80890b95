import { web } from "dure/channels";
import { defineTeam } from "dure/team";
import faq from "../faq/service.ts";
import meetingRoom from "../meeting-room/service.ts";
import minimal from "../minimal/service.ts";
import transfer from "../transfer/service.ts";
import { inEnglish } from "./in-english.ts";

/**
 * The example team in English: Ada leads, Eden develops, Sam runs the servers, Dana tests. `npm
 * start` takes it where the machine speaks English.
 */
export default defineTeam({
  name: "Dure",
  locale: "en",
  timeZone: "UTC",
  // Loaded where there is no key: the first one answers. DURE_MODEL=anthropic:… names a real model.
  offlineModels: async () => (await import("./offline.ts")).englishModels,
  agents: {
    ada: { displayName: "Ada", leads: true, card: { llm: "offline:ada" } },
    eden: { displayName: "Eden", card: { llm: "offline:eden" } },
    sam: { displayName: "Sam", card: { llm: "offline:sam" } },
    dana: { displayName: "Dana", card: { llm: "offline:dana" } },
  },
  rooms: { adapters: [web()], channels: { general: { defaultAgent: "ada" } } },
  services: {
    transfer: inEnglish(transfer),
    faq: inEnglish(faq),
    minimal: inEnglish(minimal),
    "meeting-room": inEnglish(meetingRoom),
  },
});
