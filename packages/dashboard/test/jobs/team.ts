import { offlineModel, type OfflineModel, type OfflineReply } from "dure";
import {
  defineTeam,
  readEnvironment,
  readTeam,
  silentLogger,
  startTeam,
  type RunningTeam,
} from "dure/team";
import minimal from "../../../../examples/minimal/service.ts";
import { minimalModel } from "../../../../examples/minimal/offline.ts";
import { testDatabaseUrl } from "../../../dure/src/durable/test-database.ts";

const NAMES = { ruda: "루다", eden: "이든", seum: "세움" } as const;
type Name = keyof typeof NAMES;

const SENTENCES = [
  "먼저 로그인 화면부터 살펴보았고 두 군데가 눈에 띄었어요.",
  "그렇다면 만료 시각의 단위를 밀리초로 통일하면 어떨까요?",
  "좋은 생각이에요. 테스트도 함께 고쳐서 오늘 안에 올릴게요.",
  "올리기 전에 배포 시간만 한 번 더 확인해 주시면 좋겠습니다.",
  "수요일 새벽이 비어 있으니 그때 진행하고 결과를 남기겠습니다.",
  "확인이 끝나면 모두에게 알리고 이 일은 여기서 마무리해요.",
];

/**
 * How they speak: another sentence in each turn. What the request says decides the rest: "천천히"
 * takes its time word by word, "멈춤" never ends, "고장" fails, "다시 부탁" lets 이든 ask 세움.
 */
function modelOf(name: Name): OfflineModel {
  return offlineModel(name, (request, { signal }): OfflineReply | Promise<OfflineReply> => {
    const all = request.messages
      .map((message) => ("text" in message ? message.text : ""))
      .join("\n");
    const turn = Number([...all.matchAll(/This is turn (\d+) of/g)].at(-1)?.[1] ?? 1);
    if (all.includes("멈춤")) {
      return new Promise((_, reject) =>
        signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true }),
      );
    }
    if (all.includes("고장")) return { error: { status: 401, message: "The key was refused." } };
    if (name === "eden" && all.includes("다시 부탁") && request.messages.at(-1)?.role !== "tool") {
      return {
        toolCalls: [{ name: "ask_agent", args: { agent: "seum", message: "서버 상태를 알려 줘" } }],
      };
    }
    const said = request.messages.findLast((message) => message.role === "user")?.text ?? "";
    const heard = said.includes("speaks into this exchange") ? "말씀 들었어요. " : "";
    const chunks = `${heard}${SENTENCES[(turn - 1) % SENTENCES.length]!}`.split(/(?<= )/);
    return { chunks, ...(all.includes("천천히") && { delayMs: 500, chunkDelayMs: 150 }) };
  });
}

export interface JobsTeam extends AsyncDisposable {
  readonly url: string;
  readonly team: RunningTeam;
}

/** The real server with a database of its own, in this process. */
export async function startJobsTeam(): Promise<JobsTeam> {
  await using starting = new AsyncDisposableStack();
  const database = starting.use(await testDatabaseUrl());
  const names = Object.keys(NAMES) as Name[];
  const options = defineTeam({
    name: "두레",
    locale: "ko",
    timeZone: "Asia/Seoul",
    model: "offline:minimal",
    offlineModels: [minimalModel, ...names.map(modelOf)],
    agents: Object.fromEntries(
      names.map((name) => [
        name,
        { displayName: NAMES[name], leads: name === "ruda", card: { llm: `offline:${name}` } },
      ]),
    ),
    jobs: { permits: 20 },
    schedules: {
      weekly: { cron: "0 9 * * 1", agent: "ruda", target: "eden", text: "{{date}} 돌아보기" },
    },
    services: { minimal },
  });
  const environment = readEnvironment({ DATABASE_URL: database.url, HOST: "127.0.0.1", PORT: "0" });
  const team = await startTeam(await readTeam(options, import.meta.dirname), environment, {
    logger: silentLogger,
  });
  starting.defer(() => team.stop());
  const running = starting.move();
  return { url: team.url, team, [Symbol.asyncDispose]: () => running.disposeAsync() };
}
