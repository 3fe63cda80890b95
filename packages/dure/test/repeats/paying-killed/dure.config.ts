import { appendFileSync } from "node:fs";
import { defineTeam } from "dure/team";
import { payingModel, tillOf } from "../paying.ts";

const { PAYING_BOOK = "", PAYING_HANGS = "" } = process.env;

/** With `PAYING_HANGS` its model never answers after the payment; else it refuses its key there. */
const paying = {
  book: (payee: string) => appendFileSync(PAYING_BOOK, `${payee}\n`),
  failure: (point: string): Promise<number> | number | undefined => {
    if (point !== "after") return undefined;
    if (PAYING_HANGS === "") return 401;
    process.stderr.write("the model hangs\n");
    return new Promise(() => undefined);
  },
};

export default defineTeam({
  name: "paying-killed",
  locale: "en",
  model: "offline:payer",
  offlineModels: [payingModel(paying)],
  services: { till: tillOf(paying) },
});
