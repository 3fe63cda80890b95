import { expect, test } from "vitest";
import { faqRetriever, readFaq } from "./retriever.ts";

const entries = readFaq(
  "# Title\n\n## 이체 한도는 얼마인가요?\n천만 원입니다.\n\n## 수수료가 있나요?\n없습니다.\n\n## Is there a fee?\nNo.\n",
);
const signal = new AbortController().signal;

test("reads each heading with what follows it", () => {
  expect(entries).toEqual([
    { question: "이체 한도는 얼마인가요?", answer: "천만 원입니다." },
    { question: "수수료가 있나요?", answer: "없습니다." },
    { question: "Is there a fee?", answer: "No." },
  ]);
});

test.each([
  ["한도가 어떻게 돼?", "이체 한도는 얼마인가요?\n천만 원입니다."],
  ["수수료 있어?", "수수료가 있나요?\n없습니다."],
  ["what is the fee", "Is there a fee?\nNo."],
])("finds for %j the passage that answers it first", async (query, passage) => {
  expect((await faqRetriever(entries).search(query, { signal }))[0]).toBe(passage);
});

test("finds nothing for what was never asked, and for nothing", async () => {
  expect(await faqRetriever(entries).search("점심 메뉴 추천", { signal })).toEqual([]);
  expect(await faqRetriever(entries).search("", { signal })).toEqual([]);
});
