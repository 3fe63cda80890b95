import type { Locale } from "../kernel/locales.ts";
import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { DureError } from "../kernel/errors.ts";
import {
  agentsFile,
  collaborationPolicy,
  agentsFileKo,
  collaborationPolicyKo,
} from "../rooms/handover/guide.ts";
import { ROOM_LIMITS } from "../rooms/limits.ts";
import { FIRST_MODELS, type InitAnswers } from "./init-answers.ts";
import { assertEmpty, copyTemplate, inLocale, namesOf, newPlan, type Names } from "./scaffold.ts";

/** A team that no question was asked for. */
export const USUAL_ANSWERS: InitAnswers = { locale: "en", begin: "rooms" };

/** What is said in each language of a new team. */
const TEXTS: Readonly<Record<Locale, Readonly<Record<string, string>>>> = {
  en: {
    LOCALE: "en",
    TIME_ZONE: "UTC",
    SERVICE_TITLE: "Minimal",
    SERVICE_ABOUT: "One agent that answers.",
    SERVICE_EXAMPLE: "Hello! What can you do?",
    mina: "Mina",
    theo: "Theo",
  },
  ko: {
    LOCALE: "ko",
    TIME_ZONE: "Asia/Seoul",
    SERVICE_TITLE: "첫 대화",
    SERVICE_ABOUT: "에이전트 하나가 답해요.",
    SERVICE_EXAMPLE: "안녕하세요! 무엇을 도와줄 수 있나요?",
    mina: "미나",
    theo: "태오",
  },
};

/** Throws `NAME_INVALID`, `FOLDER_NOT_EMPTY`: no team of this name can be made there. */
export async function assertFree(
  written: string,
  { folder, locale }: { folder: string; locale: Locale },
): Promise<void> {
  try {
    await assertEmpty(path.resolve(folder, namesOf(written, "team").name));
  } catch (error) {
    if (locale !== "ko" || !(error instanceof DureError)) throw error;
    const words = REFUSED_KO[error.code];
    if (words === undefined) throw error;
    const { class: errorClass, details } = error;
    throw new DureError(error.code, words.message(written), {
      class: errorClass,
      hint: words.hint,
      details,
      cause: error,
    });
  }
}

const REFUSED_KO: Readonly<
  Record<string, { readonly message: (written: string) => string; readonly hint: string }>
> = {
  NAME_INVALID: {
    message: (written) => `"${written}"은(는) 팀의 이름으로 쓸 수 없어요.`,
    hint: "글자나 숫자로 시작하고 글자, 숫자, 빈칸, _, -로 64자까지 쓸 수 있어요.",
  },
  FOLDER_NOT_EMPTY: {
    message: (written) => `${written} 폴더에 이미 파일이 있어서 아무것도 만들지 않았어요.`,
    hint: "다른 이름을 적거나 폴더를 비워 주세요.",
  },
};

/** Makes a new folder with a team. The answers say which parts it begins with. */
export async function initTeam(
  written: string,
  options: { folder: string; version: string; answers?: InitAnswers | undefined },
): Promise<{ folder: string; names: Names }> {
  const answers = options.answers ?? USUAL_ANSWERS;
  const texts = TEXTS[answers.locale];
  const names = namesOf(written, "team");
  const folder = path.resolve(options.folder, names.name);
  await assertEmpty(folder);

  const values = {
    ...texts,
    TEAM_TITLE: names.title,
    PACKAGE_NAME: packageName(names.name),
    DURE_VERSION: options.version,
    ZOD_RANGE: await zodRange(),
    MODEL: modelLines(answers),
    AGENTS: agentLines(answers),
  };
  await copyTemplate("team", folder, values);
  if (answers.locale === "ko") await copyTemplate("team-ko", folder, values);
  const service = path.join(folder, "services", "minimal");
  await copyTemplate(inLocale("service", answers.locale), service, {
    ...values,
    SERVICE_NAME: "minimal",
  });

  if (answers.begin !== "chat") await addAgents(folder, answers);
  if (answers.begin === "plans") await addPlan(folder, answers);
  if (answers.provider !== undefined) await addKey(folder, answers);

  return { folder, names };
}

/** The comment on the model, and the line that names it. */
function modelLines({ provider, locale }: InitAnswers): string {
  if (provider !== undefined) {
    const { key, model } = FIRST_MODELS[provider];
    const where =
      locale === "ko" ? `키 ${key}는 .env에 있어요.` : `Its key, ${key}, stands in .env.`;
    return `${where}\n  model: "${model}",`;
  }

  const how =
    locale === "ko"
      ? "모델이 없으면 에이전트가 연결하는 방법을 알려줘요. .env에 키를 넣고 모델을 적어 주세요:"
      : "Without a model agents say how to connect one. Put a key into .env, then say which model:";
  return `${how}\n  // model: "anthropic:claude-haiku-4-5",`;
}

/** The comment on the agents, and the lines that name them. */
function agentLines({ begin, locale }: InitAnswers): string {
  const isKorean = locale === "ko";
  if (begin === "chat") {
    return isKorean
      ? "방에서 이야기하는 에이전트: npx dure new agent mina"
      : "Agents that talk in a room: npx dure new agent mina.";
  }
  const { mina, theo } = TEXTS[locale];
  const about = isKorean
    ? `에이전트들은 \`general\` 방에서 이야기해요. 누구인지는 agents/<id>/SOUL.md에, 함께 일하는
  // 방법은 AGENTS.md에 있어요.`
    : `Agents talk in the room \`general\`. Who they are stands in agents/<id>/SOUL.md, how they work
  // together in AGENTS.md.`;

  return `${about}
  agents: {
    mina: { displayName: "${mina}", leads: true },
    theo: { displayName: "${theo}" },
  },`;
}

async function addAgents(folder: string, answers: InitAnswers): Promise<void> {
  for (const id of ["mina", "theo"]) {
    const own = path.join(folder, "agents", id);
    await copyTemplate(inLocale("agent", answers.locale), own, {
      AGENT_TITLE: TEXTS[answers.locale][id]!,
    });
  }
  const isKorean = answers.locale === "ko";
  const policy = isKorean ? collaborationPolicyKo : collaborationPolicy;
  const agents = isKorean ? agentsFileKo : agentsFile;
  await writeFile(path.join(folder, "COLLABORATION.md"), policy(ROOM_LIMITS));
  await writeFile(path.join(folder, "AGENTS.md"), agents(ROOM_LIMITS));
}

/** What the template says of its worker. */
const OFFLINE_WORDS = {
  en: [
    /It can run as it stands:\s.*?tells you so\./s,
    "Its worker is a model with dure's own\n# tools.",
  ],
  ko: [/지금도 실행되지만\s.*?알려줘요\./s, "작업 담당은\n# dure의 도구를 쓰는 모델이에요."],
} as const;

/** With a provider the plan's worker is a model with dure's own tools, else it changes nothing. */
async function addPlan(folder: string, answers: InitAnswers): Promise<void> {
  const { provider, locale } = answers;
  const { file } = await newPlan("first", { folder, template: inLocale("plan", answers.locale) });
  if (provider === undefined) return;

  const worker = `default: { kind: model, model: "${FIRST_MODELS[provider].model}" }`;
  const text = await readFile(file, "utf8");
  const withWorker = text.replace("  default: { kind: offline }", `  ${worker}`);
  const [before, now] = OFFLINE_WORDS[locale];
  await writeFile(file, withWorker.replace(before, now));
}

/** The key goes where git does not look, readable by its owner alone. */
async function addKey(folder: string, { provider, key }: InitAnswers): Promise<void> {
  if (provider === undefined || key === undefined) return;
  const name = FIRST_MODELS[provider].key;
  const text = await readFile(path.join(folder, ".env.example"), "utf8");
  const ownWords = text.replace(/^(?:#.*\n)+\n/, ""); // how to copy the file that this one is
  const withKey = ownWords.replace(`# ${name}=`, () => `${name}=${key}`);
  await writeFile(path.join(folder, ".env"), withKey, { mode: 0o600 });
}

/** The range of zod that dure takes: schemas of a team and of dure are of one copy. */
async function zodRange(): Promise<string> {
  const text = await readFile(new URL("../../package.json", import.meta.url), "utf8");
  const { peerDependencies } = JSON.parse(text) as { peerDependencies: { zod: string } };

  return peerDependencies.zod;
}

// --- package name

/** What npm accepts is lower-case Latin letters, digits, _ and -. */
const USUAL = "my-team";
const MAX_LENGTH = 214;

// Revised Romanization of each syllable by itself: enough for a name that can be recognized.
const INITIALS = "g kk n d tt r m b pp s ss - j jj ch k t p h".split(" ");
const VOWELS = "a ae ya yae eo e yeo ye o wa wae oe yo u wo we wi yu eu ui i".split(" ");
const FINALS = "- k k k n n n t l k m l l l p l m p p t t ng t t k t p t".split(" ");
const FIRST_SYLLABLE = 0xac00;

/** The name of a team's package: its folder's, in the letters that npm takes. Pure. */
export function packageName(name: string): string {
  const latin = name
    .normalize("NFC")
    .replaceAll(/[가-힣]/g, romanized)
    .normalize("NFD")
    .replaceAll(/\p{M}/gu, "")
    .toLowerCase()
    .replaceAll(/[^a-z0-9_-]+/g, "-")
    .replaceAll(/^[-_]+|-+$/g, "");
  return /[a-z0-9]/.test(latin) ? latin.slice(0, MAX_LENGTH) : USUAL;
}

function romanized(syllable: string): string {
  const index = syllable.codePointAt(0)! - FIRST_SYLLABLE;
  const vowelAndFinal = index % (VOWELS.length * FINALS.length);
  const letters = [
    INITIALS[Math.floor(index / (VOWELS.length * FINALS.length))]!,
    VOWELS[Math.floor(vowelAndFinal / FINALS.length)]!,
    FINALS[vowelAndFinal % FINALS.length]!,
  ];
  return letters.filter((letter) => letter !== "-").join("");
}
