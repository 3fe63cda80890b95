import { offlineModel, type ModelRequest, type OfflineModel, type OfflineReply } from "dure";

/** A team of rooms that needs no model, in one language. */
export interface Crew {
  readonly lead: {
    readonly id: string;
    readonly name: string;
    readonly thanks: (author: string) => string;
    readonly inThread: string;
    readonly offers: (author: string) => string;
    /** What is asked of the one who gets the work. */
    readonly asks: (author: string, text: string) => string;
    readonly handedTo: (name: string) => string;
    readonly notHanded: (hint: string) => string;
  };
  readonly members: readonly Member[];
}

/** Gets the work that its words speak of. */
export interface Member {
  readonly id: string;
  readonly name: string;
  readonly words: readonly string[];
  readonly answer: (heard: Heard) => string;
}

/**
 * Each agent is a function of what a real model would be asked; the lead hands work over by really
 * calling `collaborate`.
 */
export function crewModels(crew: Crew): readonly OfflineModel[] {
  const { lead, members } = crew;
  const names = [lead, ...members].map(({ name }) => name);
  const agent = (id: string, answer: (heard: Heard) => OfflineReply): OfflineModel =>
    offlineModel(id, (request) => withPause(answer(heardIn(request, names))));

  return [
    agent(lead.id, (heard) => leadAnswer(crew, heard)),
    ...members.map(({ id, answer }) => agent(id, answer)),
  ];
}

function leadAnswer({ lead, members }: Crew, heard: Heard): OfflineReply {
  if (heard.isAgent) {
    return heard.called === undefined
      ? { toolCalls: [{ name: "end_conversation", args: {} }] }
      : lead.thanks(heard.author);
  }

  const target = heard.isThread ? undefined : memberFor(heard.text, members);
  if (!target) return heard.isThread ? lead.inThread : lead.offers(heard.author);
  if (heard.called !== undefined) {
    return heard.called["ok"] === true
      ? lead.handedTo(target.name)
      : lead.notHanded(hintOf(heard.called));
  }

  const words = heard.text.replace(/^@\S+\s*/, "");
  const message = heard.author === "" ? words : lead.asks(heard.author, words);
  return { toolCalls: [{ name: "collaborate", args: { targetAgent: target.id, message } }] };
}

/** By name, else by what is spoken of. */
function memberFor(text: string, members: readonly Member[]): Member | undefined {
  const said = text.toLowerCase();

  return (
    members.find(({ name }) => isAskedFor(name, text)) ??
    members.find(({ words }) => words.some((word) => said.includes(word)))
  );
}

/** `이든과 같이`, `세움에게`, `with Eden`: by name, but not called by the person itself. */
function isAskedFor(name: string, text: string): boolean {
  return new RegExp(`(?<!@)${name}`, "u").test(text);
}

/** What a request says, as an agent of a room reads it. */
export interface Heard {
  readonly author: string;
  readonly text: string;
  /** Whether another agent of the team said it. */
  readonly isAgent: boolean;
  readonly isThread: boolean;
  readonly rank: "PRIMARY" | "SECONDARY" | undefined;
  /** Short records of what was overheard, oldest first. */
  readonly records: readonly string[];
  /** What the tool that this turn has called gave. */
  readonly called: Readonly<Record<string, unknown>> | undefined;
}

function hintOf({ hint }: Readonly<Record<string, unknown>>): string {
  return typeof hint === "string" ? hint : "";
}

/** Time to see the typing sign. */
function withPause(reply: OfflineReply): OfflineReply {
  return typeof reply === "string" ? { text: reply, delayMs: 400, chunkDelayMs: 15 } : reply;
}

function heardIn(request: ModelRequest, names: readonly string[]): Heard {
  const lastUser = request.messages.findLastIndex((message) => message.role === "user");
  const said = textOf(request, lastUser);
  const background = textOf(request, lastUser - 1);
  const [, author = "", text = said] = /^([^:\n]{1,60}): ([\s\S]*)$/.exec(said) ?? [];
  const results = request.messages
    .slice(lastUser + 1)
    .flatMap((message) => (message.role === "tool" ? [message.result] : []));
  return {
    author,
    text,
    isAgent: names.includes(author),
    isThread: background.includes("in the thread"),
    rank: background.includes("leads the answer")
      ? "SECONDARY"
      : background.includes("you lead the answer")
        ? "PRIMARY"
        : undefined,
    records: background
      .split("\n")
      .flatMap((line) => (line.startsWith("- ") ? [line.slice(2)] : [])),
    called: results.at(-1) as Heard["called"],
  };
}

function textOf(request: ModelRequest, index: number): string {
  const message = request.messages[index];
  return message?.role === "user" ? message.text : "";
}
