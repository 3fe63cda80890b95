import {
  chatAgent,
  defineService,
  flow,
  offlineModel,
  tool,
  type OfflineModel,
  type OfflineReply,
  type Service,
} from "dure";
import {
  defineTeam,
  readEnvironment,
  readTeam,
  silentLogger,
  startTeam,
  type RunningTeam,
} from "dure/team";
import { z } from "zod";
import faq from "../../../../examples/faq/service.ts";
import { examplesModel } from "../../../../examples/offline.ts";
import { testDatabaseUrl } from "../../../dure/src/durable/test-database.ts";

/** The four of the specification's scenarios; 루다 leads. */
const NAMES = { ruda: "루다", eden: "이든", seum: "세움", dajim: "다짐" } as const;
type Name = keyof typeof NAMES;

/**
 * How they speak: 루다 hands over what it is asked to hand over to 이든; 이든 and 루다 go on for as long as
 * they may once a message says "끝없이"; the others answer with one sentence. "천천히" makes an
 * answer take its time.
 */
function modelOf(name: Name): OfflineModel {
  return offlineModel(name, (request): OfflineReply => {
    const said = request.messages.findLast((message) => message.role === "user")?.text ?? "";
    const last = request.messages.at(-1);
    if (last?.role === "tool") {
      return {
        text:
          last.name === "remember"
            ? "말씀대로 했어요."
            : "이든에게 부탁했어요. 스레드에서 이어집니다.",
      };
    }
    if (said.includes("기억해줘")) {
      return { toolCalls: [{ name: "remember", args: { text: "배포는 월요일에만 한다" } }] };
    }
    const isAsked = name === "ruda" && said.includes("부탁해줘");
    if (isAsked) {
      const endless = said.includes("끝없이") ? "끝없이 이야기해 줘" : "로그인 모듈을 검토해 줘";
      return {
        toolCalls: [
          { name: "collaborate", args: { targetAgent: "eden", message: endless, topic: endless } },
        ],
      };
    }
    const endless =
      (name === "ruda" || name === "eden") &&
      request.messages.some(
        (message) => message.role === "user" && message.text.includes("끝없이"),
      );
    if (endless) {
      return {
        text: `${NAMES[name]}: ${said.length}자를 읽고 ${request.messages.length}번째로 하는 다른 이야기예요.`,
      };
    }
    if (said.includes("표로")) {
      return {
        text: "**정리**하면 이렇습니다.\n\n- 로그인: `session.ts` 확인 끝\n- 결제: 금요일까지\n\n> 배포는 월요일입니다.\n\n@세움 도 한번 봐 주세요.",
      };
    }
    return {
      text: `${NAMES[name]}의 답입니다. 확인했어요.`,
      ...(said.includes("천천히") && { delayMs: 1_500 }),
      ...(said.includes("끝까지") && { delayMs: 120_000 }),
    };
  });
}

/** Pays when its person says yes. */
const tellerModel = offlineModel("teller", (request): OfflineReply => {
  const last = request.messages.at(-1);
  if (last?.role === "tool") {
    const isPaid = JSON.stringify(last.result).includes("tx_");
    return { text: isPaid ? "보냈어요. 접수 번호는 tx_1이에요." : "보내지 않았어요." };
  }
  const args = { to: "홍길동", amount: 50_000, memo: "점심값" };
  return { toolCalls: [{ name: "pay", args }] };
});

function counterService(): Service {
  const pay = tool({
    description: "Pays.",
    inputSchema: z.object({ to: z.string(), amount: z.number(), memo: z.string() }),
    effect: "once",
    recover: "replay",
    approval: {
      by: "person",
      question: ({ to, amount }, { locale }) =>
        locale === "en" ? `Send ${amount} won to ${to}?` : `${to} 님에게 ${amount}원을 보낼까요?`,
    },
    execute: () => ({ receipt: "tx_1" }),
  });
  const teller = chatAgent({
    name: "teller",
    prompt: "Pay.",
    card: { llm: "offline:teller" },
    tools: { pay },
  });
  return defineService({
    name: "counter",
    agents: { teller },
    flows: {
      DEFAULT: flow(async (turn) => turn.done({ message: (await turn.agent("teller", "…")).text })),
    },
  });
}

export interface RoomsTeam extends AsyncDisposable {
  readonly url: string;
  readonly team: RunningTeam;
}

/**
 * The real server with a database of its own, in this process. `others`: so many channels besides,
 * 방 1 and so on. `teller`: 가람 is there too, who pays.
 */
export async function startRoomsTeam({
  others = 0,
  locale = "ko",
  teller = false,
}: { others?: number; locale?: "ko" | "en"; teller?: boolean } = {}): Promise<RoomsTeam> {
  await using starting = new AsyncDisposableStack();
  const database = starting.use(await testDatabaseUrl());
  const names = Object.keys(NAMES) as Name[];
  const tellers = teller ? { teller: { displayName: "가람", service: "counter" } } : {};
  const options = defineTeam({
    name: "두레",
    locale,
    timeZone: "Asia/Seoul",
    model: "offline:examples",
    offlineModels: [examplesModel, tellerModel, ...names.map(modelOf)],
    agents: {
      ...Object.fromEntries(
        names.map((name) => [
          name,
          { displayName: NAMES[name], leads: name === "ruda", card: { llm: `offline:${name}` } },
        ]),
      ),
      ...tellers,
    },
    rooms: {
      channels: {
        general: { name: "일반" },
        quiet: { name: "조용한 방", collaborate: false },
        ...Object.fromEntries(
          Array.from({ length: others }, (_none, index) => [
            `other-${index + 1}`,
            { name: `방 ${index + 1}` },
          ]),
        ),
      },
    },
    services: teller ? { faq, counter: counterService() } : { faq },
    limits: { exchange: 3, pair: { calls: 20 }, thread: { messages: 500 } },
  });
  const environment = readEnvironment({ DATABASE_URL: database.url, HOST: "127.0.0.1", PORT: "0" });
  const team = await startTeam(await readTeam(options, import.meta.dirname), environment, {
    logger: silentLogger,
  });
  starting.defer(() => team.stop());
  const running = starting.move();
  return { url: team.url, team, [Symbol.asyncDispose]: () => running.disposeAsync() };
}
