import { defineService, flow } from "dure";
import { defineTeam } from "dure/team";
import { createTransferService } from "../../../../../examples/transfer/service.ts";

const { RUDE_BANK_URL = "", RUDE_MODEL = "" } = process.env;

/** Answers one sentence: the other service that a person may go to. */
const small = defineService({
  name: "small",
  agents: {},
  flows: { DEFAULT: flow(async (turn) => turn.done({ message: "안녕하세요." })) },
});

export default defineTeam({
  name: "rude",
  locale: "ko",
  timeZone: "Asia/Seoul",
  model: RUDE_MODEL,
  services: { transfer: createTransferService({ bankUrl: RUDE_BANK_URL }), small },
});
