import { expect, test } from "vitest";
import { decideDocument, type DocumentFacts } from "./dashboard.ts";

const PAGES = ["start", "rooms", "chat", "plans", "run", "before", "agent", "agents", "frame"];
const documents = new Set(PAGES.flatMap((page) => [`${page}.ko.html`, `${page}.en.html`]));
const at = (path: string, more: Partial<DocumentFacts> = {}): string =>
  decideDocument({ documents, path, languages: "ko-KR,ko;q=0.9", visitor: "nameless", ...more });

test.each([
  ["/", "pages/start.ko.html"],
  ["/plans", "pages/plans.ko.html"],
  ["/plans/runs/run_1/ports/login", "pages/run.ko.html"],
  ["/plans/start/shop", "pages/before.ko.html"],
  ["/agents", "pages/agents.ko.html"],
  ["/agents/ruda", "pages/agent.ko.html"],
  ["/chat", "pages/chat.ko.html"],
  ["/chat/mina", "pages/frame.ko.html"],
  ["/rooms/general", "pages/rooms.ko.html"],
  ["/nope", "pages/frame.ko.html"],
  ["/../secret", "pages/frame.ko.html"],
])("the address %s has the document %s", (path, document) => {
  expect(at(path)).toBe(document);
});

test.each([
  ["en-US,en;q=0.9,ko;q=0.8", "en"],
  ["ja-JP,ja;q=0.9,ko;q=0.8,en;q=0.7", "ko"],
  ["fr", "en"],
  [undefined, "en"],
])("a browser that asks for %s gets %s", (languages, language) => {
  expect(at("/", { languages })).toBe(`pages/start.${language}.html`);
});

test("a stranger gets no words, and a person with a name is not asked for one", () => {
  expect(at("/", { visitor: "stranger" })).toBe("index.html");
  expect(at("/rooms", { visitor: "named" })).toBe("pages/frame.ko.html");
  expect(at("/plans", { visitor: "named" })).toBe("pages/plans.ko.html");
});

test("a dashboard without documents of pages has its index", () => {
  expect(at("/", { documents: new Set() })).toBe("index.html");
});
