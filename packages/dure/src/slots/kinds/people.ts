/** Slots that are a person, or how one is reached. */

import { z } from "zod";
import { choiceReader } from "../../parse/choice.ts";
import { personReader } from "../../parse/people/payments.ts";
import { parsePerson } from "../../parse/people/person.ts";
import { formatPhone, isPhone, phoneReader, type PhoneNumber } from "../../parse/phone.ts";
import type { Reader } from "../../parse/reading.ts";
import type { SlotSpec } from "../form.ts";
import { lineOf, slotOf, takeExact, type KindOptions } from "./kind.ts";
import { checkedOptions, KIND_OPTIONS, oneOfWords, TEXTS } from "./options.ts";

export interface PersonOptions extends KindOptions<string> {
  /** Names that are known: each is found in a sentence, also where nothing marks it as a name. */
  readonly contacts?: readonly string[] | undefined;
}

const PERSON_OPTIONS = { ...KIND_OPTIONS, contacts: TEXTS };

/** Most characters of a name or an account. */
const LONGEST_NAME = 60;

/** A person or an account, kept as it was said: `엄마`, `홍길동`, `국민 110-234-567890`. */
export function personSlot(options: PersonOptions = {}): SlotSpec<string> {
  const { contacts = [], ...own } = checkedOptions("person", options, PERSON_OPTIONS);
  const known = choiceReader(contacts.map((name) => ({ value: name, names: [name] })));
  const reader: Reader<string> = {
    parse: (words) => {
      const contact = known.parse(words);
      return contact.ok && contact.sure === "exact" ? contact : plainName(words);
    },
    find: (sentence) => {
      const named = known.find(sentence);
      const names = new Set(named.map((one) => (one.ok ? one.value : "")));
      const others = personReader.find(sentence).filter((one) => !one.ok || !names.has(one.value));
      return [...named, ...others].toSorted((a, b) => a.at - b.at);
    },
  };
  return slotOf<string>(
    {
      type: "person",
      reader: () => reader,
      parse: (raw) => takeExact(reader.parse(lineOf(raw)), "PERSON_UNCLEAR"),
      schema: z.string().min(1).max(LONGEST_NAME),
      schemaError: "PERSON_LONG",
      format: { ko: "이름, 별명, 계좌번호", en: "a name, a nickname or an account number" },
      errors: {
        ko: {
          PERSON_UNCLEAR: "이름을 다시 말씀해 주세요. 예: 홍길동",
          PERSON_LONG: `이름은 ${LONGEST_NAME}자까지 쓸 수 있어요.`,
        },
        en: {
          PERSON_UNCLEAR: "Please say the name again, such as John Smith.",
          PERSON_LONG: `A name may have up to ${LONGEST_NAME} characters.`,
        },
      },
      examples: ["홍길동", "엄마", "John Smith"],
      show: (value) => value,
    },
    own,
  );
}

/** Politeness and possessives go one behind the other; a name has no more of them. */
const MOST_STEPS = 8;

/** 제 이름은 홍길동이에요, my name is John Smith. */
const INTRODUCES =
  /^(?:(?:제|내|저의) ?(?:이름|성함)은|이름은|성함은|(?:my |the )?name(?: is|'s|:)|i'?m|i am|it'?s|this is) ?(?=\S)/iu;

/** A name that is read once more stays as it is. */
function plainName(words: string): ReturnType<typeof parsePerson> {
  let read = parsePerson(words.replace(INTRODUCES, ""));
  for (let step = 0; step < MOST_STEPS && read.ok; step++) {
    const again = parsePerson(read.value);
    if (!again.ok || again.value === read.value) return again.ok ? { ...read, words } : again;
    read = again;
  }
  return read;
}

export interface PhoneOptions extends KindOptions<PhoneNumber> {
  /** Whose numbers are read without a `+`. */
  readonly region?: "KR" | undefined;
}

const PHONE_OPTIONS = { ...KIND_OPTIONS, region: oneOfWords(["KR"]) };

/** A phone number, kept as `01012345678`, of other countries as `+14155550123`. */
export function phoneSlot(options: PhoneOptions = {}): SlotSpec<PhoneNumber> {
  const own = checkedOptions("phone", options, PHONE_OPTIONS);
  return slotOf<PhoneNumber>(
    {
      type: "phone",
      reader: () => phoneReader,
      parse: (raw) =>
        takeExact(phoneReader.parse(typeof raw === "string" ? raw : ""), "PHONE_UNCLEAR", {
          "wrong-length": "PHONE_LENGTH",
        }),
      schema: z.string().refine(isPhone),
      schemaError: "PHONE_UNCLEAR",
      format: { ko: "전화번호, 숫자만", en: "a phone number, digits alone" },
      errors: {
        ko: {
          PHONE_UNCLEAR: "전화번호를 말씀해 주세요. 예: 010-1234-5678",
          PHONE_LENGTH: "전화번호의 자릿수가 맞지 않아요. 예: 010-1234-5678",
        },
        en: {
          PHONE_UNCLEAR: "I need a phone number, such as 010-1234-5678.",
          PHONE_LENGTH: "That phone number has too few or too many digits.",
        },
      },
      examples: ["010-1234-5678", "02-123-4567", "+82 10-1234-5678"],
      show: formatPhone,
    },
    own,
  );
}
