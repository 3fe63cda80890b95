import { defineTeam } from "dure/team";
import faq from "../../../../../examples/faq/service.ts";
import minimal from "../../../../../examples/minimal/service.ts";
import { examplesModel } from "../../../../../examples/offline.ts";
import transfer from "../../../../../examples/transfer/service.ts";
import { desk, deskModel } from "./desk.ts";

/**
 * The example services as they are, and a desk whose answers take their time and whose tools ask a
 * person.
 */
export default defineTeam({
  name: "두레",
  locale: "ko",
  timeZone: "Asia/Seoul",
  model: "offline:examples",
  offlineModels: [examplesModel, deskModel],
  limits: { patience: { chat: "0s" } }, // a page that shows a failure does not wait for it
  services: { transfer, faq, minimal, desk },
});
