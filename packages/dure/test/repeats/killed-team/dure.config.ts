import { appendFileSync } from "node:fs";
import { defineTeam } from "dure/team";
import { payingModel, tillOf, type FailPoint } from "../paying.ts";

const { PAYING_BOOK = "", PAYING_FAILS = "after:401", PAYING_HANGS = "" } = process.env;
const { PAYING_PATIENCE: chat, PAYING_ASKS = "" } = process.env;
/** Such as `before:503:1`; without a number for ever, for each message of its own. */
const [point, status, times = "Infinity"] = PAYING_FAILS.split(":");
const failed = new Map<string, number>();

/** With `PAYING_HANGS` its model never answers after the payment. */
const paying = {
  book: (payee: string) => appendFileSync(PAYING_BOOK, `${payee}\n`),
  failure: (at: FailPoint, payee: string): Promise<number> | number | undefined => {
    if (PAYING_HANGS !== "" && at === "after") {
      process.stderr.write("the model hangs\n");
      return new Promise(() => undefined);
    }
    const before = failed.get(payee) ?? 0;
    if (at !== point || before >= Number(times)) return undefined;
    failed.set(payee, before + 1);
    return Number(status);
  },
};

export default defineTeam({
  name: "paying-killed",
  locale: "en",
  model: "offline:payer",
  offlineModels: [payingModel(paying)],
  services: { till: tillOf(paying, PAYING_ASKS !== "") },
  limits: chat === undefined ? {} : { patience: { chat } },
});
