/**
 * `npm run eval -- --model offline|openai:<model>|anthropic:<model>`: how well the transfer service
 * understands people. Exit code 1 when anything is booked, or shown to be booked, that was not said,
 * or when an utterance has no answer.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { readEnvironment, readTeam, silentLogger, startTeam } from "dure/team";
import { startBank } from "../bank/bank.ts";
import { transferModel } from "../offline.ts";
import { createTransferService } from "../service.ts";
import { judge, type Judged } from "./judge.ts";
import { countOf, tableOf } from "./table.ts";
import { asOfToday, hear, RICH, type Desk } from "./through-service.ts";
import { understand } from "./understand.ts";
import { CLASSES, readUtterances, TODAY, type Utterance } from "./utterances.ts";

const { values } = parseArgs({
  options: {
    model: { type: "string", default: "offline" },
    class: { type: "string", multiple: true, default: [...CLASSES] },
    limit: { type: "string" },
  },
});

/** A provider that refuses this often has no key, or no such model. */
const MAX_ERRORS = 5;

const wanted = (await readUtterances()).filter((one) => values.class.includes(one.class));
const utterances = wanted.slice(0, Number(values.limit ?? wanted.length));

const alone = utterances.map((one) => judge(one, understand(one, TODAY)));
console.log(`The parsers alone, ${alone.length} utterances:\n\n${tableOf(alone)}\n`);

const toSay = utterances.filter(({ asked }) => asked !== "date"); // the service asks for no day
const heard = await hearAll(toSay);
console.log(`\nThe service with ${values.model}:\n\n${tableOf(heard)}\n`);

const wrong = countOf([...alone, ...heard], "wrong");
const unheard = toSay.length - heard.length;
console.log(`${wrong} wrong bookings; ${unheard} utterances without an answer`);
process.exitCode = wrong === 0 && unheard === 0 ? 0 : 1;

async function hearAll(all: readonly Utterance[]): Promise<Judged[]> {
  const judged: Judged[] = [];
  const errors: string[] = [];
  await withDesk(async (desk) => {
    for (const [place, utterance] of all.entries()) {
      try {
        const outcome = await hear(utterance, desk, `eval-${place}`);
        judged.push(judge(asOfToday(utterance, Date.now()), outcome));
      } catch (error) {
        errors.push((error as Error).message);
        if (judged.length === 0 && errors.length >= MAX_ERRORS) break;
      }
    }
  });
  for (const error of errors.slice(0, MAX_ERRORS)) console.error(`no answer: ${error}`);
  return judged;
}

async function withDesk(work: (desk: Desk) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(path.join(tmpdir(), "dure-eval-"));
  const bank = await startBank({ accounts: RICH });
  const team = await startTeam(
    await readTeam(
      {
        name: "eval",
        locale: "ko",
        timeZone: "Asia/Seoul",
        model: values.model === "offline" ? "offline:transfer" : values.model,
        offlineModels: [transferModel],
        services: { transfer: createTransferService({ bankUrl: bank.url }) },
      },
      folder,
    ),
    { ...readEnvironment({ ...process.env, PORT: "0" }), home: folder },
    { logger: silentLogger },
  );
  try {
    await work({
      say: (request) => team.engine.turn(request).done,
      bookings: () => bank.bookings().length,
    });
  } finally {
    await team.stop();
    await bank.stop();
    await rm(folder, { recursive: true, force: true });
  }
}
