/** Slots that are kept as they are said: a text, an address, a file. */

import { z } from "zod";
import { findBy } from "../../parse/find-by.ts";
import { notUnderstood, understood, type Reader } from "../../parse/reading.ts";
import type { SlotSpec } from "../form.ts";
import { lineOf, slotOf, type KindOptions } from "./kind.ts";
import { checkedOptions, COUNT, KIND_OPTIONS } from "./options.ts";
import type { OptionKind } from "../../kernel/known-options.ts";

export interface TextOptions extends KindOptions<string> {
  /** Fewest characters. Default: 1. */
  readonly min?: number | undefined;
  /** Most characters. Default: 200. */
  readonly max?: number | undefined;
  /** What the whole text must match, without the flags `g` and `y`. */
  readonly pattern?: RegExp | undefined;
}

/** With `g` or `y` a pattern remembers where it looked last. */
const PATTERN: OptionKind = {
  takes: "a regular expression without the flags g and y",
  is: (value) => value instanceof RegExp && !value.global && !value.sticky,
};

const TEXT_OPTIONS = { ...KIND_OPTIONS, min: COUNT, max: COUNT, pattern: PATTERN };

/** Words in one line. A model can fill it only with what was said. */
export function textSlot(options: TextOptions = {}): SlotSpec<string> {
  const { min = 1, max = 200, pattern, ...own } = checkedOptions("text", options, TEXT_OPTIONS);
  const fits = (text: string): boolean => pattern?.test(text) ?? true;
  return slotOf<string>(
    {
      type: "text",
      parse: (raw) => {
        const value = lineOf(raw);
        if (value === "") return { ok: false, error: "TEXT_UNREADABLE" };
        return fits(value) ? { ok: true, value } : { ok: false, error: "TEXT_FORM" };
      },
      schema: z.string().min(min).max(max).refine(fits),
      schemaError: "TEXT_LENGTH",
      limits: { min, max },
      errors: {
        ko: {
          TEXT_UNREADABLE: "다시 말씀해 주세요.",
          TEXT_LENGTH:
            min > 1 ? `${min}자에서 ${max}자까지 쓸 수 있어요.` : `${max}자까지 쓸 수 있어요.`,
          TEXT_FORM: "형식에 맞지 않아요. 다시 말씀해 주세요.",
        },
        en: {
          TEXT_UNREADABLE: "Please say that again.",
          TEXT_LENGTH:
            min > 1
              ? `It may have ${min} to ${max} characters.`
              : `It may have up to ${max} characters.`,
          TEXT_FORM: "That does not have the right form. Please say it again.",
        },
      },
      examples: [],
      show: (value) => value,
    },
    own,
  );
}

/** Fewest and most characters of an address. */
const SHORTEST_ADDRESS = 4;
const LONGEST_ADDRESS = 200;
/** A number, or a word for a part of a city or a street; 친구 and 다시 end as these do. */
const PLACE = new RegExp(
  "\\d|[가-힣]{2}(?:시|군|구|읍|면|동|아파트|빌딩|타워|마을)(?=$|[\\s,.])|" +
    "(?<![가-힣])[중동서남북]구(?=$|[\\s,.])|" +
    "\\b(?:street|st|avenue|ave|road|rd|lane|ln|drive|dr|boulevard|blvd|square|apt|suite|city)\\b",
  "iu",
);

/** Where something is or goes to; kept as it was said. */
export function addressSlot(options: KindOptions<string> = {}): SlotSpec<string> {
  const own = checkedOptions("address", options, KIND_OPTIONS);
  return slotOf<string>(
    {
      type: "address",
      parse: (raw) => {
        const value = typeof raw === "string" ? lineOf(raw) : "";
        const isPlace = value.length >= SHORTEST_ADDRESS && PLACE.test(value);
        return isPlace ? { ok: true, value } : { ok: false, error: "ADDRESS_UNCLEAR" };
      },
      schema: z.string().min(SHORTEST_ADDRESS).max(LONGEST_ADDRESS).regex(PLACE),
      schemaError: "ADDRESS_LONG",
      format: { ko: "주소, 말한 그대로", en: "an address, as it was said" },
      errors: {
        ko: {
          ADDRESS_UNCLEAR: "주소를 번지까지 말씀해 주세요. 예: 서울시 강남구 테헤란로 152",
          ADDRESS_LONG: `주소는 ${LONGEST_ADDRESS}자까지 쓸 수 있어요.`,
        },
        en: {
          ADDRESS_UNCLEAR:
            "Please give the address with its number, such as 152 Teheran-ro, Seoul.",
          ADDRESS_LONG: `An address may have up to ${LONGEST_ADDRESS} characters.`,
        },
      },
      examples: ["서울시 강남구 테헤란로 152", "152 Teheran-ro, Seoul"],
      show: (value) => value,
    },
    own,
  );
}

/** A file of the conversation: see `FileRef.id`. */
const FILE_ID = /^file_[0-9A-Za-z]{1,60}$/u;
const FILE_IDS = /(?<![\w-])file_[0-9A-Za-z]{1,60}(?![\w-])/gu;

function parseFileId(words: string): ReturnType<Reader<string>["parse"]> {
  const id = words.trim();
  return FILE_ID.test(id) ? understood(id, words) : notUnderstood("not-a-file", words);
}

/** A file that came with a message, by its id. */
export function fileSlot(options: KindOptions<string> = {}): SlotSpec<string> {
  const own = checkedOptions("file", options, KIND_OPTIONS);
  return slotOf<string>(
    {
      type: "file",
      reader: () => ({
        parse: parseFileId,
        find: (sentence) => findBy(sentence, FILE_IDS, parseFileId),
      }),
      parse: (raw) => {
        const read = parseFileId(lineOf(raw));
        return read.ok ? { ok: true, value: read.value } : { ok: false, error: "FILE_MISSING" };
      },
      schema: z.string().regex(FILE_ID),
      schemaError: "FILE_MISSING",
      format: { ko: "파일 아이디, file_…", en: "a file's id, file_…" },
      errors: {
        ko: { FILE_MISSING: "파일을 함께 보내 주세요." },
        en: { FILE_MISSING: "Please send the file with a message." },
      },
      examples: ["file_01JABCDEF"],
      show: (value) => value,
    },
    own,
  );
}
