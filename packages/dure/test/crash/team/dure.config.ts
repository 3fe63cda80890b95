import { defineTeam } from "dure/team";
import { createTransferService } from "../../../../../examples/transfer/service.ts";
import { crashService, type Variant } from "./service.ts";

const {
  CRASH_BANK_URL = "",
  CRASH_HOOK_URL = "",
  CRASH_VARIANT = "plain",
  CRASH_DRAIN = "10s",
} = process.env;

export default defineTeam({
  name: "crash",
  locale: "ko",
  timeZone: "Asia/Seoul",
  model: "openai:crash-1",
  server: { drain: CRASH_DRAIN },
  services: {
    crash: crashService({
      bankUrl: CRASH_BANK_URL,
      hookUrl: CRASH_HOOK_URL,
      variant: CRASH_VARIANT as Variant,
    }),
    transfer: createTransferService({ bankUrl: CRASH_BANK_URL }),
  },
});
