import { booleanSlot, choiceSlot } from "./choice.ts";
import { dateRangeSlot, dateSlot } from "./days.ts";
import { moneySlot, numberSlot } from "./numbers.ts";
import { personSlot, phoneSlot } from "./people.ts";
import { recurrenceSlot } from "./recurrence.ts";
import { addressSlot, fileSlot, textSlot } from "./text.ts";
import { timeSlot } from "./time.ts";

/**
 * Slots of the kinds of values that people give. Each has its reader, its checks, its errors with
 * sentences in both languages, and how it is shown:
 *
 *     const SLOTS = {
 *       day: slot.date(),
 *       time: slot.time({ from: "09:00", to: "18:00", step: 30 }),
 *       people: slot.number({ min: 1, max: 20, unit: { ko: "명", en: "people" } }),
 *       card: slot.choice({ options: [{ value: "debit", names: { ko: "체크카드", en: "debit card" } }] }),
 *     };
 */
export const slot = {
  text: textSlot,
  number: numberSlot,
  money: moneySlot,
  date: dateSlot,
  dateRange: dateRangeSlot,
  time: timeSlot,
  choice: choiceSlot,
  boolean: booleanSlot,
  person: personSlot,
  phone: phoneSlot,
  address: addressSlot,
  file: fileSlot,
  recurrence: recurrenceSlot,
} as const;
