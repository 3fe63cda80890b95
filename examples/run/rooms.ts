/**
 * `npm run example:rooms`: a person asks, 루다 hands over in a thread, 이든 answers there, and 다짐 can
 * tell about it.
 */
import minimal from "../minimal/service.ts";
import { minimalModel } from "../minimal/offline.ts";
import { roomAgents } from "../rooms/agents.ts";
import { roomModels } from "../rooms/offline.ts";
import { runExample } from "./example.ts";

const PERSON = "민준";
const GENERAL = "web:general";

await runExample(
  "rooms",
  {
    name: "두레",
    locale: "ko",
    model: "offline:minimal",
    offlineModels: [minimalModel, ...roomModels],
    agents: roomAgents(),
    services: { minimal },
  },
  async ({ team, check }) => {
    const { rooms } = team;
    if (!rooms) throw new Error("The team has no rooms.");
    const shown = new Set<string>();
    const show = async (place: string, indent: string): Promise<readonly string[]> => {
      const messages = await rooms.reader.messages(place, {});
      for (const { id, authorName, text } of messages) {
        if (!shown.has(id)) {
          const named = text.replace(
            /<@(\w+)>/g,
            (_all, agent: string) => `@${rooms.directory.nameOf(agent)}`,
          );
          console.log(`${indent}${authorName}: ${named.replaceAll("\n", `\n${indent}  `)}`);
        }
        shown.add(id);
      }
      return messages.map(({ authorName, text }) => `${authorName}: ${text}`);
    };
    const say = async (text: string): Promise<void> =>
      void (await rooms.post({ tenant: "", person: PERSON }, { place: GENERAL, text }));

    await say("@루다 로그인 모듈 코드 리뷰 받아 줘");
    await until(async () =>
      (await show(GENERAL, "#general  ")).some((line) => line.includes("이든 님이 답했어요")),
    );
    const [thread] = await rooms.reader.threads(GENERAL, { tenant: "", person: PERSON });
    const talk = thread ? await show(thread.id, "  thread  ") : [];
    check(
      "루다 handed over in a thread that everybody sees",
      thread?.name.startsWith("[협업] 루다 → 이든") ?? false,
    );
    check(
      "이든 answered there without being called again",
      talk.some((line) => line.startsWith("이든:") && line.includes("두 가지")),
    );
    check(
      "루다 ended it",
      await until(async () =>
        (await show(thread!.id, "  thread  ")).some((line) => line.startsWith("루다: 확인했어요")),
      ),
    );

    await say("@다짐 아까 루다와 무슨 이야기가 있었어?");
    check(
      "다짐, who only listened, can tell about it",
      await until(async () =>
        (await show(GENERAL, "#general  ")).some(
          (line) => line.startsWith("다짐:") && line.includes("로그인 모듈"),
        ),
      ),
    );
  },
);

/** Looks every 50 ms for 20 s. */
async function until(isSo: () => Promise<boolean>): Promise<boolean> {
  for (let tries = 0; tries < 400; tries++) {
    if (await isSo()) return true;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return false;
}
