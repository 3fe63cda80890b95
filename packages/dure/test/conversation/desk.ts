import { startBank, type Bank, type BankOptions } from "../../../../examples/transfer/bank/bank.ts";
import { answerTransfer } from "../../../../examples/transfer/offline.ts";
import { createTransferService } from "../../../../examples/transfer/service.ts";
import { Database } from "../../src/durable/database.ts";
import { testDatabaseUrl } from "../../src/durable/test-database.ts";
import type { AnyService } from "../../src/engine/service/combine.ts";
import { defineService, flow } from "../../src/engine/service/service.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { silentLogger } from "../../src/kernel/logger.ts";
import type { ModelRequest } from "../../src/models/model.ts";
import { offlineModel, type OfflineAnswer, type OfflineModel } from "../../src/models/offline.ts";
import { readTeam, type TeamOptions } from "../../src/team/config.ts";
import { readEnvironment } from "../../src/team/environment.ts";
import { startTeam } from "../../src/team/start.ts";

/** `DONE` as a page reads it. */
export interface WireDone {
  readonly message: string;
  readonly next_action: string;
  readonly ui_hint: { readonly buttons: readonly string[]; readonly confirm_id?: string };
  readonly state_snapshot: Record<string, unknown>;
  readonly error?: { readonly code: string };
  readonly receipt?: Record<string, unknown>;
}

export interface Words {
  readonly message: string;
  readonly confirm_id?: string | undefined;
  readonly service?: string;
  readonly slots?: Record<string, unknown>;
  readonly last_question?: string | null;
  readonly session_id?: string;
  readonly locale?: string;
}

export interface WireEvent {
  readonly type: string;
  readonly data: unknown;
}

/** One server of a team, asked over HTTP. */
export interface Desk extends AsyncDisposable {
  readonly url: string;
  say(words: string | Words): Promise<WireDone>;
  /** All that the server tells of it, in order. */
  hear(words: Words): Promise<readonly WireEvent[]>;
  /** Presses a button of a question. */
  press(label: string, on: WireDone): Promise<WireDone>;
  /** Sends it, and gives its turn as soon as it is accepted. */
  begin(words: Words): Promise<{ turnId: string; done: Promise<WireDone> }>;
  stop(turnId: string): Promise<void>;
}

type Variables = Readonly<Record<string, string>>;

/** The team's HTTP, in the session `mina`. */
async function openDesk(
  databaseUrl: string,
  services: TeamOptions["services"],
  { environment: more, ...options }: Partial<TeamOptions> & { environment?: Variables } = {},
): Promise<Desk> {
  const loaded = await readTeam({ services, ...options });
  const environment = readEnvironment({ DATABASE_URL: databaseUrl, PORT: "0", ...more });
  const team = await startTeam(loaded, environment, { logger: silentLogger });
  const post = (path: string, body: object): Promise<Response> =>
    fetch(team.url + path, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
  const send = (words: Words): Promise<Response> =>
    post("/v1/agent/chat/stream", { session_id: "mina", ...words });
  const begin: Desk["begin"] = async (words) => {
    const answer = await send(words);
    const turnId = answer.headers.get("turn-id");
    if (turnId === null) throw new Error(`${answer.status}: ${await answer.text()}`);
    return { turnId, done: doneIn(answer) };
  };
  const say: Desk["say"] = async (words) =>
    (await begin(typeof words === "string" ? { message: words } : words)).done;
  return {
    url: team.url,
    begin,
    say,
    hear: async (words) => eventsIn(await (await send(words)).text()),
    press: (message, { ui_hint: { confirm_id } }) => say({ message, confirm_id }),
    stop: async (turnId) => void (await post(`/v1/agent/turns/${turnId}/stop`, {})),
    [Symbol.asyncDispose]: () => team.stop(),
  };
}

async function doneIn(answer: Response): Promise<WireDone> {
  const text = await answer.text();
  const data = /^event: DONE\ndata: (.*)$/mu.exec(text)?.[1];
  if (data === undefined) throw new Error(`no DONE in ${text}`);
  return JSON.parse(data) as WireDone;
}

function eventsIn(stream: string): readonly WireEvent[] {
  return [...stream.matchAll(/^event: (\w+)\ndata: (.*)$/gmu)].map(([, type, data]) => ({
    type: type!,
    data: JSON.parse(data!) as unknown,
  }));
}

/** How a model behaves just now; the test changes it between two messages. */
export interface Mood {
  /** Instead of its answer, for the agent whose prompt holds this. */
  answer?: ((request: ModelRequest) => OfflineAnswer | undefined) | undefined;
}

function moodyModel(mood: Mood): OfflineModel {
  return offlineModel(
    "moody",
    (request) => mood.answer?.(request) ?? answerTransfer(request) ?? "…",
  );
}

/** Answers one sentence: the other service that a person may go to. */
export function smallService(name = "small"): AnyService {
  return defineService({
    name,
    agents: {},
    flows: { DEFAULT: flow(async (turn) => turn.done({ message: "안녕하세요." })) },
  });
}

/** A bank, a database, a model with moods, and any number of processes in front of them. */
export interface Office extends AsyncDisposable {
  readonly bank: Bank;
  readonly mood: Mood;
  readonly databaseUrl: string;
  open(options?: {
    services?: TeamOptions["services"];
    team?: Partial<TeamOptions>;
    databaseUrl?: string;
    /** Goes before the moody model: a provider's. */
    environment?: Variables;
  }): Promise<Desk>;
  /** The question was shown so long ago. */
  age(ms: number): Promise<void>;
  /** The words that led to each question were accepted so long ago, milliseconds. */
  saidAgo(ms: number): Promise<void>;
  /** As the session has it stored. */
  question(): Promise<Record<string, unknown> | undefined>;
}

async function queried<Row extends object>(
  url: string,
  text: string,
  values: readonly unknown[] = [],
): Promise<readonly Row[]> {
  const shared = { applicationName: "test", logger: silentLogger, clock: systemClock };
  const database = await Database.open({ url, ...shared });
  try {
    return await database.query<Row>({ text }, values);
  } finally {
    await database.close();
  }
}

export async function openOffice(options: { bank?: BankOptions } = {}): Promise<Office> {
  await using stack = new AsyncDisposableStack();
  const bank = await startBank(options.bank);
  stack.defer(() => bank.stop());
  const { url: databaseUrl } = stack.use(await testDatabaseUrl());
  const mood: Mood = {};
  const transfer = createTransferService({ bankUrl: bank.url });
  const kept = stack.move();
  const base = { model: "offline:moody", offlineModels: [moodyModel(mood)] } as const;
  return {
    bank,
    mood,
    databaseUrl,
    open: async ({ services, team, databaseUrl: other, environment } = {}) =>
      kept.use(
        await openDesk(other ?? databaseUrl, services ?? { transfer, small: smallService() }, {
          locale: "ko",
          ...team,
          model: base.model,
          offlineModels: [...base.offlineModels],
          ...(environment && { environment }),
        }),
      ),
    async age(ms) {
      const text = `update dure.sessions set state = jsonb_set(state, '{question,shownAt}',
        to_jsonb((state->'question'->>'shownAt')::float8 - $1::float8))`;
      await queried(databaseUrl, text, [ms]);
    },
    async saidAgo(ms) {
      const text = `update dure.sessions set state = jsonb_set(state, '{question,after,at}',
        to_jsonb(extract(epoch from clock_timestamp()) * 1000 - $1::float8))`;
      await queried(databaseUrl, text, [ms]);
    },
    async question() {
      const text = "select state->'question' as question from dure.sessions";
      const [row] = await queried<{ question: Record<string, unknown> }>(databaseUrl, text);
      return row?.question;
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}
