import fc from "fast-check";
import { expect, test } from "vitest";
import { dialogWithin, foldPlan, newestWithin, oldestWithin } from "./fold-plan.ts";
import { MEMORY_DEFAULTS, type MemoryEntry } from "./memory.ts";

const WORDS = "a word and another one ";

/** Exchanges of these lengths; each has a call with its result. */
function historyOf(sizes: readonly number[]): readonly MemoryEntry[] {
  return sizes.flatMap((size, index): MemoryEntry[] => {
    const id = `c${index}`;
    const args = { to: `p${index}` };
    return [
      { role: "user", content: `Question ${index}? ${WORDS.repeat(size)}` },
      {
        role: "assistant",
        content: `Answer ${index}.`,
        work: [
          {
            agent: "bank/clerk",
            messages: [
              { role: "assistant", text: "", toolCalls: [{ id, name: "pay", args }] },
              { role: "tool", callId: id, name: "pay", result: `receipt ${index}` },
            ],
            deeds: [`pay ${index}`],
          },
        ],
      },
    ];
  });
}

const isWhole = (history: readonly MemoryEntry[]): boolean =>
  history.every(({ role }, index) => role === (index % 2 === 0 ? "user" : "assistant")) &&
  history.length % 2 === 0;

const SIZES = fc.array(fc.nat(200), { maxLength: 12 });

test("a history is cut between exchanges, and loses none between what goes and what stays", () => {
  fc.assert(
    fc.property(SIZES, fc.nat(3_000), (sizes, room) => {
      const rawHistory = historyOf(sizes);
      const memory = { rawHistory, summaryText: "" };

      const { older, recent } = foldPlan(memory, MEMORY_DEFAULTS, room);

      expect([...older, ...recent]).toEqual(rawHistory);
      expect([isWhole(older), isWhole(recent)]).toEqual([true, true]);
      expect(newestWithin(recent, room)).toEqual(recent);
    }),
    { numRuns: 50, endOnFailure: true },
  );
});

test("a history is summed up in parts of whole exchanges, the oldest first, until none is left", () => {
  fc.assert(
    fc.property(SIZES, fc.integer({ min: 1, max: 3_000 }), (sizes, most) => {
      const history = historyOf(sizes);
      const parts: MemoryEntry[] = [];
      for (let left = history; left.length > 0;) {
        const part = oldestWithin(left, most);
        expect([part.length > 0, isWhole(part)]).toEqual([true, true]);
        parts.push(...part);
        left = left.slice(part.length);
      }

      expect(parts).toEqual(history);
    }),
    { numRuns: 50, endOnFailure: true },
  );
});

test("of an exchange that is too long for a summary both ends are read", () => {
  const dialog = dialogWithin(historyOf([2_000]), 300);

  expect(dialog.length).toBeLessThan(1_300);
  expect(dialog).toMatch(/^user: Question 0\?[\s\S]*…[\s\S]*Answer 0\.$/u);
});
