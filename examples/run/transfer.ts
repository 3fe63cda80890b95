/**
 * `npm run example:transfer`: a transfer, a batch, a bank that cuts the line; the bank's book is
 * the judge.
 */
import { startBank } from "../transfer/bank/bank.ts";
import { transferModel } from "../transfer/offline.ts";
import { createTransferService } from "../transfer/service.ts";
import { runExample } from "./example.ts";

const bank = await startBank();
const transfer = createTransferService({ bankUrl: bank.url });

await runExample(
  "transfer",
  {
    name: "transfer",
    locale: "ko",
    timeZone: "Asia/Seoul",
    model: "offline:transfer",
    offlineModels: [transferModel],
    services: { transfer },
  },
  async ({ say, check }) => {
    const asked = await say("홍길동에게 5만원 보내줘");
    check("asks before it sends", asked.nextAction === "CONFIRM" && bank.bookings().length === 0);
    await say("오늘 날씨 어때?");
    const done = await say("네 보내주세요");
    check("sent, with a receipt", done.nextAction === "DONE" && done.receipt !== undefined);
    check("the bank has booked one transfer", bank.bookings().length === 1);
    const late = await say("확인", { confirmId: asked.uiHint!.confirmId! });
    check("a second tap sends nothing", bank.bookings().length === 1 && late.receipt === undefined);

    const unknown = await say("없는사람에게 2만원 보내줘");
    check("no yes is asked for what the bank refuses", unknown.nextAction === "ASK");
    await say("취소");

    await say("엄마에게 3만원, 철수에게 2만원, 민지에게 1만원 보내줘");
    await say("네");
    bank.changeAccounts({ unknown: ["철수"] });
    const failed = await say("응");
    check("after a failure it asks whether to go on", failed.nextAction === "ASK_CONTINUE");
    await say("계속 진행");
    const end = await say("취소");
    check("the counts are true", end.message.includes("완료 1건, 취소 1건, 실패 1건"));
    check("the bank has booked two transfers", bank.bookings().length === 2);

    bank.addFaults({ kind: "cut", when: "after" });
    await say("김철수에게 만원 보내줘");
    const cut = await say("응, 확인!");
    check(
      "booked, and the line was cut: found again, once",
      cut.receipt !== undefined && bank.bookings().length === 3,
    );
  },
);
await bank.stop();
