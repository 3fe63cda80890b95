import { randomInt } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { FULL } from "../../src/kernel/test-tiers.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { findingsOf, scriptOf, type Conversation, type Times, type Told } from "./rude-findings.ts";
import { numbersFrom, personOf, type Deed } from "./rude-people.ts";
import { Town, type Begun } from "./rude-town.ts";

/**
 * Random people in front of a rude model, by seed, many at once, while servers are killed: no
 * booking without a question that was shown last and answered yes; amount and person as shown;
 * each person who was understood ends as done, cancelled, failed or still asked; no text says
 * "sent" without a booking. DURE_TEST_SEED runs one conversation, as a failure printed it.
 */
const { DURE_TEST_SEED: given, DURE_TEST_LONG: long } = process.env;
const FIRST = given === undefined ? randomInt(2 ** 31 - 2_000) : Number(given);
const CONVERSATIONS = given === undefined ? (long === "1" ? 1_000 : 100) : 1;
const IN_ONE_TEST = long === "1" ? 100 : 10;
/** People who talk at the same time: below the streams that a server gives one address. */
const AT_ONCE = 40;
const ALL = Array.from({ length: Math.ceil(CONVERSATIONS / IN_ONE_TEST) }, (_, group) => ({
  seed: FIRST + group * IN_ONE_TEST,
  count: Math.min(CONVERSATIONS, IN_ONE_TEST),
}));
/** Kills among so many conversations: a start costs as much as some of them. */
const KILL_EVERY = 10;

let town: Town;
let conversations = 0;

beforeAll(async () => void (town = await Town.start()), 180_000);

afterAll(async () => {
  if (!town) return;
  const { turns, kills, bank, provider } = town;
  process.stdout.write(
    `\nRude people: ${conversations} conversations, ${turns} turns, ${kills} kills, ` +
      `${bank.bookings().length} bookings, ${provider.requests.length} model calls\n`,
  );
  await town[Symbol.asyncDispose]();
}, 60_000);

test.each(ALL)(
  "$count people, a rude model and killed servers, from seed $seed",
  { ...FULL, timeout: 900_000 },
  async ({ seed, count }) => {
    const waiting = Array.from({ length: count }, (_, index) => seed + index);
    const found: string[] = [];
    const talk = async (): Promise<void> => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        found.push(...(await findingsAbout(next)));
      }
    };

    await Promise.all(Array.from({ length: AT_ONCE }, talk));

    expect(found.join("\n")).toBe("");
  },
);

async function findingsAbout(seed: number): Promise<readonly string[]> {
  const person = new Person(`s${seed}`, numbersFrom(seed));
  const said = `DURE_TEST_SEED=${seed}`;
  try {
    const findings = await judged(person.session, await person.converse());
    return findings.length === 0 ? [] : [said, ...findings, scriptOf(person.told), ""];
  } catch (error) {
    return [said, `it broke off: ${String(error)}`, scriptOf(person.told), ""];
  } finally {
    conversations += 1;
  }
}

async function judged(session: string, told: readonly Told[]): Promise<readonly string[]> {
  const booked = town.bank.bookings().filter(({ key }) => key.startsWith(`${session}/`));
  const completed = await town.completed(session);
  const conversation: Conversation = { told, booked, completed, times: await timesOf(session) };
  return findingsOf(conversation);
}

async function timesOf(session: string): Promise<ReadonlyMap<string, Times>> {
  const text = `select id, extract(epoch from accepted_at) * 1000 as accepted,
    extract(epoch from finished_at) * 1000 as finished from dure.turns where session_id = $1`;
  type Row = { id: string; accepted: string; finished: string };
  const rowsOf = await town.database.query<Row>({ text }, [session]);
  return new Map(
    rowsOf.map(({ id, accepted, finished }) => [
      id,
      { acceptedAt: Number(accepted), finishedAt: Number(finished) },
    ]),
  );
}

type DeedOf<Kind extends Deed["do"]> = Extract<Deed, { do: Kind }>;

/** One person, who does one thing after the other and sees what comes of it. */
class Person {
  readonly session: string;
  readonly #random: () => number;
  readonly told: Told[] = [];
  #afterSilence = false;
  #sent = 0;

  constructor(session: string, random: () => number) {
    this.session = session;
    this.#random = random;
  }

  async converse(): Promise<readonly Told[]> {
    for (const deed of personOf(this.#random)) await this.#do(deed, this.#random() < 0.5 ? 0 : 1);
    return this.told;
  }

  async #do(deed: Deed, house: number): Promise<void> {
    switch (deed.do) {
      case "say":
        return this.#say(deed.text, { house, service: deed.service });
      case "press":
        return this.#press(deed, house);
      case "twice":
        return this.#sayTwice(deed, house);
      case "stopped":
        return this.#sayAndStop(deed, house);
      case "killed":
        return this.#sayAndKill(deed, house);
      case "silence":
        return this.#beSilent();
    }
    deed satisfies never;
  }

  async #say(text: string, { house, service }: { house: number; service?: string | undefined }) {
    await this.#hear(await this.#begin(text, { house, service }), text);
  }

  async #press({ which, label }: DeedOf<"press">, house: number): Promise<void> {
    const asked = this.told.filter(({ done }) => done.next_action === "CONFIRM");
    const on = which === "last" ? asked.at(-1) : asked.at(0);
    const confirmId = on?.done.ui_hint.confirm_id;
    if (confirmId === undefined) return;
    await this.#hear(await this.#begin(label, { house, confirmId }), label, confirmId);
  }

  async #sayTwice({ text, andThen }: DeedOf<"twice">, house: number): Promise<void> {
    const first = await this.#begin(text, { house });
    const second = await this.#begin(andThen, { house: this.#random() < 0.5 ? house : 1 - house });
    await this.#hear(first, text);
    await this.#hear(second, andThen);
  }

  async #sayAndStop({ text }: DeedOf<"stopped">, house: number): Promise<void> {
    const turn = await this.#begin(text, { house });
    await town.stop(turn.turnId, house);
    await this.#hear(turn, text);
  }

  async #sayAndKill({ text, afterMs }: DeedOf<"killed">, house: number): Promise<void> {
    const turn = await this.#begin(text, { house });
    if (town.kills < conversations / KILL_EVERY || town.kills === 0) {
      await systemClock.sleep(afterMs);
      await town.kill(house);
    }
    await this.#hear(turn, text);
  }

  /** So long that the question expires. */
  async #beSilent(): Promise<void> {
    this.#afterSilence = true;
    const text = `update dure.sessions set state = jsonb_set(state, '{question,shownAt}', '1')
      where id = $1 and state ? 'question'`;
    await town.database.query({ text }, [this.session]);
  }

  #begin(
    text: string,
    to: { house: number; service?: string | undefined; confirmId?: string },
  ): Promise<Begun> {
    const { house, service = "transfer", confirmId } = to;
    const key = `${++this.#sent}`;
    return town.begin({ session: this.session, text, key, service, confirmId }, house);
  }

  async #hear(turn: Begun, text: string, pressed?: string): Promise<void> {
    const done = await turn.done;
    const shown = turn.shown();
    const afterSilence = this.#afterSilence;
    this.#afterSilence = false;
    this.told.push({ turnId: turn.turnId, text, pressed, afterSilence, shown, done });
  }
}
