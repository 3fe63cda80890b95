import {
  defineTeam,
  readEnvironment,
  readTeam,
  silentLogger,
  startTeam,
  type NewEscalation,
  type RunningTeam,
} from "dure/team";
import minimal from "../../../../examples/minimal/service.ts";
import { minimalModel } from "../../../../examples/minimal/offline.ts";
import { Database } from "../../../dure/src/durable/database.ts";
import { PostgresTokenStore } from "../../../dure/src/server/token-store.ts";
import { testDatabaseUrl } from "../../../dure/src/durable/test-database.ts";

export interface EscalationsTeam extends AsyncDisposable {
  readonly url: string;
  readonly team: RunningTeam;
  raise(given: Partial<NewEscalation>): Promise<string>;
  /** The id of a token that was made for a person, and revoked: the server still knows the name. */
  tokenFor(name: string): Promise<string>;
}

/**
 * The real server with a database of its own, in this process, and a hand that raises escalations.
 */
export async function startEscalationsTeam(): Promise<EscalationsTeam> {
  await using starting = new AsyncDisposableStack();
  const owned = starting.use(await testDatabaseUrl());
  const options = defineTeam({
    name: "두레",
    locale: "ko",
    timeZone: "Asia/Seoul",
    model: "offline:minimal",
    offlineModels: [minimalModel],
    agents: { ruda: { displayName: "루다", leads: true } },
    services: { minimal },
  });
  const environment = readEnvironment({ DATABASE_URL: owned.url, HOST: "127.0.0.1", PORT: "0" });
  const team = await startTeam(await readTeam(options, import.meta.dirname), environment, {
    logger: silentLogger,
  });
  starting.defer(() => team.stop());
  const database = await Database.open({
    url: owned.url,
    applicationName: "escalations-page",
    logger: silentLogger,
    max: 2,
  });
  starting.defer(() => database.close());
  let count = 0;
  const running = starting.move();
  return {
    url: team.url,
    team,
    raise: async (given) => {
      const whole: NewEscalation = {
        subject: `subject-${count++}`,
        type: "general",
        severity: "medium",
        title: "정해 주세요",
        suggestedActions: [{ value: "seen", label: "확인함" }],
        ...given,
      };
      const [raised] = await database.transaction((tx) => team.inbox.raise(tx, [whole]));
      team.inbox.announce();
      return raised!.id;
    },
    tokenFor: (name) =>
      database.transaction(async (tx) => {
        const tokens = new PostgresTokenStore({ database: tx });
        const { record } = await tokens.create({ name, scopes: ["admin"] });
        await tokens.revoke(record.id); // with a living one the page would have to log in
        return record.id;
      }),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

/** A port whose tests keep failing, as a plan raises it. */
export const TEST_FAILURE = {
  type: "test_failure",
  severity: "high",
  source: { run: "run_1", port: "api" },
  title: "api: 세 번 고쳤지만 테스트가 실패해요",
  description: "POST /login이 다섯 번째 실패부터 429를 답해야 하는데 401을 답해요.",
  context: {
    tries: 3,
    failedTests: [
      {
        name: "login > locks after five failures",
        expected: "429",
        actual: "401",
        file: "test/api/login.test.ts",
        line: 41,
      },
      { name: "login > unlocks after a minute", expected: "200", actual: "401" },
    ],
    suggestions: ["잠금 시각을 세션에 저장해 보세요"],
    output: Array.from(
      { length: 30 },
      (_, index) => `✗ line ${index} of what the tests have said`,
    ).join("\n"),
  },
  suggestedActions: [
    { value: "retry", label: "다시 시도", style: "primary", asks: "text" },
    {
      value: "reassign",
      label: "조율 담당에게 이 포트를 통째로 맡기고 그 결과를 기다리기",
      asks: "text",
    },
    { value: "skip", label: "넘어가기" },
    { value: "abort", label: "실행 멈추기", style: "danger" },
  ],
} as const satisfies Partial<NewEscalation>;
