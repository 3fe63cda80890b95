import fc from "fast-check";
import { expect } from "vitest";
import type { SlotContext, SlotSpec, SlotValue } from "../form.ts";

/** A Wednesday. */
export const TODAY: SlotContext = { today: "2026-11-18" };

/** The value that a slot takes, or the key of its error: parse, schema, validate. */
export function taken(
  given: SlotSpec<never> | SlotSpec<string> | SlotSpec<number> | SlotSpec<boolean>,
  raw: unknown,
  context: SlotContext = TODAY,
): SlotValue {
  const spec = given as SlotSpec;
  const read = spec.parse(raw, context);
  if (!read.ok) return `! ${read.error}`;
  if (!spec.schema.safeParse(read.value).success) return `! ${spec.schemaError}`;
  const error = spec.validate?.(read.value, context);
  return error === undefined ? read.value : `! ${error}`;
}

/** A value as it is stored, and as people read it in either language, is taken as itself. */
export function expectReadBack<Value extends SlotValue>(
  spec: SlotSpec<Value>,
  values: fc.Arbitrary<Value>,
): void {
  const one = spec as unknown as SlotSpec<never>;
  fc.assert(
    fc.property(values, (value) => {
      expect(taken(one, value)).toBe(value);
      expect(taken(one, spec.show?.(value, "ko"))).toBe(value);
      expect(taken(one, spec.show?.(value, "en"))).toBe(value);
    }),
  );
}

const PIECES =
  "3 12 3.5 -1 세 스물 two 명 개 시 반 오후 am 3:30 noon 12월 3일 부터 까지 ~ to 어제 last Monday 전 ago 90.5.3 " +
  "010 1234 5678 공일공 +82 네 아니요 필요 없어요 있어요 with 체크 카드 말고 not 만원 dollars 매달 every 시 구 로 file_01 " +
  "내일 주말 2박 3일간 홍길동 엄마";
const rubble = fc
  .array(fc.constantFrom(...PIECES.split(" "), " ", "?", "/", "-"), { maxLength: 14 })
  .map((pieces) => pieces.join(" "));

/** Whatever is sent: it is an error that the slot has a sentence for, or a value of its schema. */
export function expectNoSurprise<Value extends SlotValue>(spec: SlotSpec<Value>): void {
  const { schema, errors, schemaError } = spec;
  const known = (key: string): boolean =>
    errors?.ko?.[key] !== undefined && errors.en?.[key] !== undefined;
  expect(known(schemaError)).toBe(true);
  fc.assert(
    fc.property(fc.oneof(rubble, fc.string(), fc.anything()), (raw) => {
      const read = spec.parse(raw, TODAY);
      if (!read.ok) expect(known(read.error)).toBe(true);
      const again = read.ok && schema.safeParse(read.value).success;
      if (read.ok && again) expect(spec.parse(read.value, TODAY)).toEqual(read);
      if (typeof raw !== "string") return;
      for (const found of spec.reader?.(TODAY).find(raw) ?? []) {
        const said = raw.normalize("NFC").slice(found.at);
        // Names are found without what is written around them.
        if (spec.type !== "person") expect(said).toContain(found.words);
        if (found.ok) expect(found.others.length > 0).toBe(found.sure === "ambiguous");
      }
    }),
    { numRuns: 300 },
  );
}
