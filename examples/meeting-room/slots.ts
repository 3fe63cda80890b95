import { slot, type SlotSpecs } from "dure/slots";

/** What is known of a booking. */
export interface RoomSlots {
  readonly room?: "small" | "large";
  /** `YYYY-MM-DD` */
  readonly day?: string;
  /** `HH:MM`, a full hour. */
  readonly time?: string;
  readonly people?: number;
}

/** What a booking needs. */
export const SLOTS = {
  room: slot.choice({
    description: { ko: "회의실", en: "the room" },
    options: [
      {
        value: "small",
        names: { ko: "소회의실", en: "the small room" },
        synonyms: ["작은 회의실", "작은 방", "small room", "small"],
      },
      {
        value: "large",
        names: { ko: "대회의실", en: "the large room" },
        synonyms: ["큰 회의실", "큰 방", "large room", "large", "big room"],
      },
    ],
  }),
  day: slot.date({ description: { ko: "쓰는 날", en: "the day" } }),
  time: slot.time({
    from: "09:00",
    to: "18:00",
    step: 60,
    description: { ko: "시작하는 시각", en: "the time of the start" },
  }),
  people: slot.number({
    min: 1,
    max: 20,
    unit: { ko: "명", en: "people" },
    description: { ko: "쓰는 사람 수", en: "how many people" },
  }),
} satisfies SlotSpecs;
