import type { EventOf, EventType, JsonObject, PlatformEvent } from "dure/client";
import { SENTENCES_WORDS, type SentencesWords } from "words:later/sentences";
import { SERVER_KOREAN } from "../server-korean.ts";
import { spanOf } from "../when.ts";
import { wordsOf, type CodedWords, type Language } from "../words.ts";
import { briefOf, type EventNames } from "./names.ts";

/** What an event holds, and what its ids and times are called. */
type FactsOf<Type extends EventType> = Omit<Required<EventOf<Type>["data"]>, keyof NamedFacts> &
  NamedFacts;

type NamedFacts = ReturnType<typeof namedFacts>;

/** A sentence for each type of event; a missing one, or a strange name in one, is a compile error. */
type Sentences = { readonly [Type in EventType]: string | ((facts: FactsOf<Type>) => string) };

/** What happened, as a person says it; undefined for an event of a newer server. Pure. */
export function sentenceOf(
  event: PlatformEvent,
  language: Language,
  names: EventNames,
): string | undefined {
  const { parts, events } = SENTENCES_WORDS[language];
  try {
    const facts = { ...event.data, ...namedFacts(event, { names, parts, language }) };
    const coded = { code: event.type, facts: facts as unknown as JsonObject };
    const sentence = wordsOf(events satisfies Sentences as object as CodedWords, coded);
    // A Korean sentence may begin with a name: `general 방`.
    return language === "ko"
      ? sentence
      : sentence && sentence.charAt(0).toUpperCase() + sentence.slice(1);
  } catch {
    return undefined; // its data is of another release
  }
}

interface Naming {
  readonly names: EventNames;
  readonly parts: SentencesWords["parts"];
  readonly language: Language;
}

/** What sentences call by a name of its own; of what an event does not hold it is empty. */
function namedFacts(event: PlatformEvent, { names, parts, language }: Naming) {
  const data = event.data as Readonly<Record<string, unknown>>;
  const textOf = (name: string): string => (data[name] ?? "") as string;
  const agentOf = (name: string): string => names.agent(textOf(name));
  const inLanguage = (text: string, say: (text: string) => string | undefined): string =>
    (language === "ko" ? say(text) : undefined) ?? text;
  const problem = data["error"] as { readonly message?: string } | undefined;
  const why = (problem?.message ?? textOf("detail")) || textOf("why") || textOf("task");
  const who = names.actor((data["by"] ?? data["author"]) as string | undefined);
  const kind = /(?:사용자|사람)$/u.test(who) ? "role" : "name";
  const agent = event.agent === undefined ? "" : names.agent(event.agent);
  const [requester, target] = [agentOf("requester"), agentOf("target")];
  const port = parts.port({ plan: textOf("plan"), port: textOf("port") });
  const member = data["member"] as Parameters<typeof parts.worker>[0]["member"];
  const list = (data["ports"] ?? data["paths"]) as readonly string[] | number | undefined;

  return {
    ...{ who, agent, requester, target, port },
    doer: parts.doer({ who, kind: who === "" ? "" : kind }),
    someone: parts.someone({ agent }),
    service: names.service(event.service),
    place: names.place(event.room),
    owner: names.agent(event.agent ?? textOf("account")),
    fromAgent: agentOf("from"),
    toAgent: agentOf("to"),
    speaker: agentOf("speaker"),
    writer: agentOf("author"),
    portName: textOf("port"),
    worker: parts.worker({ port, member }),
    exchange: parts.exchange({ requester, target }),
    quote: parts.quote({ text: briefOf(textOf("text")) }),
    said: parts.quote({ text: briefOf(textOf("message")) }),
    why: parts.why({ text: why && briefOf(inLanguage(why, SERVER_KOREAN.sentence)) }),
    title: inLanguage(textOf("title"), SERVER_KOREAN.title),
    took: spanOf(Number(data["elapsedMs"]), language),
    silence: spanOf(Number(data["silentMs"]), language),
    percent: Math.round(Number(data["progress"]) * 100),
    count: Array.isArray(list) ? list.length : 0,
    sum: Number(data["resumed"]) + Number(data["abandoned"]),
  };
}
