/** A visit: a doctor, a day and a time. */
export interface Visit {
  readonly doctor: string;
  /** `YYYY-MM-DD` */
  readonly day: string;
  /** `HH:MM` */
  readonly time: string;
}

/** A definite no of the practice: nothing was changed. */
class NoSuchVisit extends Error {
  readonly code = "NO_SUCH_VISIT";
  readonly definite = true;
}

/** Whether a visit can be booked; `passed`: its time is over. */
export type Opening = "free" | "taken" | "passed";

/** The book of a practice in Seoul. It keeps keys, so that the same key does its deed once. */
export class Practice {
  readonly #now: () => Date;
  readonly #visits = new Map<string, Visit>();
  readonly #doneByKey = new Map<string, string>();
  #numbers = 6;

  get visits(): Readonly<Record<string, Visit>> {
    return Object.fromEntries(this.#visits);
  }

  constructor({ now = () => new Date() }: { readonly now?: () => Date } = {}) {
    this.#now = now;
  }

  /** A visit that is moved does not stand in its own way. */
  opening({ doctor, day, time }: Visit, moved?: string): Opening {
    if (new Date(`${day}T${time}:00+09:00`) <= this.#now()) return "passed";
    const known = moved === undefined ? undefined : this.#visits.get(moved);
    const isTaken = [...this.#visits].some(
      ([number, visit]) =>
        number !== moved &&
        visit.doctor === (known?.doctor ?? doctor) &&
        visit.day === day &&
        visit.time === time,
    );
    return isTaken ? "taken" : "free";
  }

  has(key: string): boolean {
    return this.#doneByKey.has(key);
  }

  book(key: string, { doctor = "", day = "", time = "" }: Partial<Visit>): string {
    return this.#once(key, () => {
      const number = `A-${++this.#numbers}`;
      this.#visits.set(number, { doctor, day, time });
      return number;
    });
  }

  move(key: string, to: Partial<Visit> & { readonly number?: string | undefined }): string {
    const { number = "", day = "", time = "" } = to;
    return this.#once(key, () => {
      this.#visits.set(number, { ...this.#visitOf(number), day, time });
      return number;
    });
  }

  cancel(key: string, { number = "" }: { readonly number?: string | undefined }): string {
    return this.#once(key, () => {
      this.#visitOf(number);
      this.#visits.delete(number);
      return number;
    });
  }

  #visitOf(number: string): Visit {
    const visit = this.#visits.get(number);
    if (visit) return visit;
    throw new NoSuchVisit(`There is no visit ${number}.`);
  }

  #once(key: string, work: () => string): string {
    const known = this.#doneByKey.get(key);
    if (known !== undefined) return known;
    const done = work();
    this.#doneByKey.set(key, done);
    return done;
  }
}
