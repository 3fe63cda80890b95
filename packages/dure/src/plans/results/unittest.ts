import { failure, report, type ResultParser, type TestFailure } from "./report.ts";

const RAN = /^Ran (\d+) tests? in [\d.]+s$/gm;
const END = /^(?:OK|FAILED|NO TESTS RAN)(?: \(([^)\n]*)\))?$/gm;
/** An error around tests is counted as one, but was not run as a test. */
const AROUND = /^ERROR: (?:setUp|tearDown)(?:Class|Module) \(/gm;

/** What Python's own `python -m unittest` writes. */
export const unittest: ResultParser = {
  framework: "unittest",
  recognises: (text) => text.search(RAN) >= 0,
  read(text) {
    const runs = [...text.matchAll(RAN)].map(([, count]) => Number(count));
    const ends = [...text.matchAll(END)].map(([, counts = ""]) => counts);
    const total = (word: string): number =>
      ends.reduce((sum, counts) => sum + countIn(counts, word), 0);

    const failed = total("failures") + total("errors") + total("unexpected successes");
    const skipped = total("skipped") + total("expected failures");
    const around = [...text.matchAll(AROUND)].length;
    const ran = runs.reduce((sum, count) => sum + count, 0);
    const passed = Math.max(0, ran - (failed - around) - skipped);

    return report("unittest", { passed, failed, skipped }, failuresIn(text), {
      truncated: ends.length < runs.length,
    });
  },
};

function countIn(counts: string, word: string): number {
  return Number(new RegExp(`(?:^|, )${word}=(\\d+)`).exec(counts)?.[1] ?? "0");
}

/** Rulers of equal signs stand before each failure; one of dashes follows its name. */
function failuresIn(text: string): TestFailure[] {
  const blocks = text.split(/^={70}$/m).slice(1);
  return blocks.map(failureIn).filter((one) => one !== undefined);
}

/** `FAIL: test_total (tests.test_cart.CartTest.test_total)`. */
function failureIn(block: string): TestFailure | undefined {
  const head = /^(?:FAIL|ERROR): (\S+)(?: \(([\w.]+)\))?/m.exec(block);
  if (!head) return undefined;

  const [, name = "", where = ""] = head;
  const group = where.split(".").findLast((part) => part !== name);
  const [, body = ""] = block.split(/^-{70}$/m);
  const place = [...body.matchAll(/^ {2}File "([^"]+)", line (\d+)/gm)].at(-1);
  const [message = ""] = body.split(/^Traceback .*\n(?: .*\n)+/m).slice(-1);
  const values = /^AssertionError: (.+?) != (.+?)(?: : .*)?$/m.exec(message);

  return failure(group === undefined ? name : `${group} > ${name}`, message, {
    file: place?.[1],
    line: place ? Number(place[2]) : undefined,
    actual: values?.[1],
    expected: values?.[2],
  });
}
