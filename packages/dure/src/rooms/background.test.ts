import { expect, test } from "vitest";
import { backgroundOf, BACKGROUND_BYTES, type BackgroundFacts } from "./background.ts";
import { Directory } from "./directory.ts";
import type { Place } from "./place.ts";
import type { StoredMessage } from "./room-store.ts";

const directory = new Directory({
  agents: [
    { id: "ruda", displayName: "루다", service: "ruda", leads: true, accounts: {} },
    { id: "eden", displayName: "이든", service: "eden", leads: false, accounts: {} },
  ],
  channels: [],
});
const facts: BackgroundFacts = {
  self: directory.get("ruda"),
  directory,
  locale: "ko",
  place: { id: "web:general", kind: "channel", name: "general" } as Place,
  message: {
    author: "민준",
    authorName: "민준",
    text: "안녕",
    mentions: [],
    attachments: [],
  } as unknown as StoredMessage,
  participants: [],
  heard: [],
};

test("fifty records of the longest characters fit: the oldest are left out, and no record is cut", () => {
  const heard = Array.from({ length: 50 }, (_none, index) => ({
    sender: "민준",
    excerpt: `${index}번 ${"👨‍👩‍👧‍👦".repeat(48)}`,
    at: index,
    place: "general",
  }));

  const background = backgroundOf({ ...facts, heard });

  expect(Buffer.byteLength(background)).toBeLessThanOrEqual(BACKGROUND_BYTES);
  expect(background).toContain("49번");
  expect(background).not.toContain(" 0번");
  expect(background).toMatch(/^<room>\n[\s\S]*\n<\/room>$/);
  expect(background.match(/번/g)!.length).toBeGreaterThan(3);
});

test("one record that is too long by itself does not hide the others", () => {
  const heard = [
    { sender: "민준", excerpt: "짧은 말", at: 1, place: "general" },
    { sender: "민준", excerpt: "가".repeat(6_000), at: 2, place: "general" },
  ];

  expect(backgroundOf({ ...facts, heard })).toContain("짧은 말");
});

test("the answer of the one who leads is cut by bytes, and fits beside fifty records", () => {
  const heard = Array.from({ length: 50 }, () => ({
    sender: "민준",
    excerpt: "말".repeat(50),
    at: 1,
    place: "general",
  }));

  const background = backgroundOf({
    ...facts,
    heard,
    rank: "SECONDARY",
    primary: { agent: "eden", answer: "답".repeat(10_000) },
  });

  expect(Buffer.byteLength(background)).toBeLessThanOrEqual(BACKGROUND_BYTES);
  expect(background).toContain("이든 has answered");
  expect(background).toContain("You overheard");
});
