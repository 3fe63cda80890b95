/** `npm run example:faq`: the intent agent chooses the flow, the retriever finds the passage. */
import faq from "../faq/service.ts";
import { faqModel } from "../faq/offline.ts";
import { runExample } from "./example.ts";

await runExample(
  "faq",
  { name: "faq", locale: "ko", model: "offline:faq", offlineModels: [faqModel], services: { faq } },
  async ({ say, check }) => {
    const limit = await say("이체 한도가 얼마예요?");
    check("the limit comes from faq.md", limit.message.includes("1,000만 원"));
    check(
      "intent and faq have run",
      limit.trace.agents.map(({ agent }) => agent).join() === "intent,faq",
    );
    const hours = await say("What are the opening hours?");
    check(
      "the English passage for an English question",
      hours.message.includes("weekdays from 9 to 18"),
    );
    const talk = await say("반가워요");
    check("small talk goes to the general flow", talk.trace.agents.at(-1)?.agent === "general");
  },
);
