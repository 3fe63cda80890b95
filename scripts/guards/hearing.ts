import type { Guard } from "../mutate.ts";
import { testsIn } from "./tests-in.ts";

const ROOMS = "packages/dure/src/rooms";
const lines = testsIn("packages/dure/test/rooms/lines.test.ts");
const joining = testsIn("packages/dure/test/rooms/joining.test.ts");
const bystanders = testsIn(`${ROOMS}/decide/bystanders.test.ts`);

/** In which line an agent is spoken to, and which threads it is called to. */
export const HEARING_GUARDS: readonly Guard[] = [
  // --- lines
  {
    id: "lines.card",
    at: { file: `${ROOMS}/decide/consequences.ts` },
    find: 'line === "person" && kind === "channel"',
    replace: 'line !== "place" && kind === "channel"',
    tests: lines("without a word of the card all people of a channel stand in one line"),
    why: "an agent forgets what others say in its channel though its card says nothing of lines",
  },
  {
    id: "lines.thread",
    at: { file: `${ROOMS}/decide/consequences.ts` },
    find: 'line === "person" && kind === "channel"',
    replace: 'line === "person"',
    tests: lines("a thread is one line"),
    why: "an agent does not know in a thread what another person has just said there",
  },
  {
    id: "lines.agents",
    at: { file: `${ROOMS}/decide/consequences.ts` },
    find: 'authorKind === "person" ? author : undefined',
    replace: "authorKind !== null ? author : undefined",
    tests: lines("a thread is one line"),
    why: "each agent of a channel has a line of its own with each other one",
  },
  {
    id: "lines.separate",
    at: { file: `${ROOMS}/decide/consequences.ts` },
    find: 'authorKind === "person" ? author : undefined',
    replace: 'authorKind === "person" ? "" : undefined',
    tests: lines("two people do not wait for each other"),
    why: "two people of a channel wait for each other",
  },
  {
    id: "lines.others",
    at: { file: `${ROOMS}/answer/background.ts` },
    find: "where coalesce(asked.session, said.session) <> $3",
    replace: "where coalesce(asked.session, said.session) = $3",
    tests: lines("an agent knows in one person's line what it was told"),
    why: "an agent denies to one person what it has just told another in the same channel",
  },

  // --- calls into a thread
  {
    id: "bystanders.named",
    at: { file: `${ROOMS}/decide/bystanders.ts` },
    find: 'role === "HANDLER" && !isThere(spoken, agent)',
    replace: "!isThere(spoken, agent) && role.length > 0",
    tests: bystanders("who is named is called, and the others record"),
    why: "every bot joins every thread",
  },
  {
    id: "bystanders.part",
    at: { file: `${ROOMS}/decide/bystanders.ts` },
    find: 'role === "HANDLER" && !isThere(spoken, agent)',
    replace: 'role === "HANDLER" && place.id !== ""',
    tests: bystanders("who takes part already is not called again"),
    why: "an agent that is in a thread is called to it with each mention",
  },
  {
    id: "bystanders.records",
    at: { file: `${ROOMS}/decide/bystanders.ts` },
    find: 'decided.filter(([, { role }]) => role === "OBSERVER")',
    replace: "decided",
    tests: bystanders("who is named is called, and the others record"),
    why: "an agent answers in a thread that it does not hear",
  },
  {
    id: "bystanders.private",
    at: { file: `${ROOMS}/decide/bystanders.ts` },
    find: 'place.kind !== "thread" || isPrivateThread(place.id)',
    replace: 'place.kind !== "thread"',
    tests: joining("what is said in a private thread is for its members and operators alone"),
    why: "what is said in a private thread is recorded for agents that are not in it",
  },
  {
    id: "bystanders.words",
    at: { file: `${ROOMS}/decide/bystanders.ts` },
    find: "if (!isPrivateThread(place.id)) return agents;",
    replace: "if (place.adapter !== '') return agents;",
    tests: joining("what is said in a private thread is for its members and operators alone"),
    why: "what an agent says in a private thread is recorded for agents that are not in it",
  },
  {
    id: "bystanders.removed",
    at: { file: `${ROOMS}/decide/bystanders.ts` },
    find: "return others.filter((agent) => !shutOut.has(agent));",
    replace: "return others.filter((agent) => !shutOut.has(`no ${agent}`));",
    tests: joining("an agent that was removed from the server overhears no thread any more"),
    why: "a bot that was removed from a server goes on to record its threads",
  },
  {
    id: "bystanders.hidden",
    at: { file: `${ROOMS}/decide/bystanders.ts` },
    find: ".filter((agent) => !shutOut.has(agent)); if (!isPrivateThread(place.id)) return agents;",
    replace: "; if (!isPrivateThread(place.id) || shutOut.size < 0) return agents;",
    tests: joining("an agent that may not view the channel any more overhears nothing of it"),
    why: "what agents say in a channel is recorded for agents that may not view it",
  },
  {
    id: "discord.hidden.lost",
    at: { file: "packages/dure/src/channels/discord/gateway-events.ts" },
    find: 'if (before?.isHidden !== true) this.#tell(address, "access-lost");',
    replace: "",
    tests: joining("an agent that may not view the channel any more overhears nothing of it"),
    why: "an agent that may not view a channel any more goes on to overhear it",
  },
  {
    id: "discord.hidden.name",
    at: { file: "packages/dure/src/channels/discord/places.ts" },
    find: "return (flags & OBFUSCATED) !== 0;",
    replace: "return flags < 0 && OBFUSCATED !== 0;",
    tests: joining("an agent that may not view the channel any more overhears nothing of it"),
    why: "a channel has the name ___hidden___ for all when one bot may not view it",
  },
];
