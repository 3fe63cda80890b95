import { crewModels } from "../rooms/crew.ts";
import { examplesModel } from "../offline.ts";

const REVIEW = `I have read the code. Two things should change.

1. After a failed login it answers **before** it stores how many tries are left. Swap the two.
2. \`session.ts\` mixes seconds and milliseconds in its expiry time.`;

const crew = crewModels({
  lead: {
    id: "ada",
    name: "Ada",
    thanks: (author) => `Seen. Thank you, ${author}!`,
    inThread: "Yes, I follow this thread too.",
    offers: (author) =>
      `Hello${author === "" ? "" : ` ${author}`}. Eden reviews, Sam deploys, Dana tests. What can we do for you?`,
    asks: (author, text) => `A request of ${author}: ${text}`,
    handedTo: (name) => `${name} has it now. You can follow it in the new thread.`,
    notHanded: (hint) => `It could not be handed over right now. ${hint}`,
  },
  members: [
    {
      id: "eden",
      name: "Eden",
      words: ["review", "code", "bug"],
      answer: ({ isAgent, rank }) =>
        isAgent
          ? REVIEW
          : rank === "SECONDARY"
            ? "One more thing: the tests should cover what happens after an error."
            : "Yes, the code is mine. Which part worries you?",
    },
    {
      id: "sam",
      name: "Sam",
      words: ["deploy", "server", "outage", "release"],
      answer: ({ isAgent }) =>
        isAgent
          ? "Both servers are fine, and a deployment can be taken back within 10 minutes. Go ahead."
          : "Two servers, 0.02 % errors. We can deploy at any time.",
    },
    {
      id: "dana",
      name: "Dana",
      words: ["test", "quality"],
      answer: ({ text, isAgent, records }) => {
        if (/what (?:did|was)|who said/i.test(text)) {
          const last = records.slice(-5).map((record) => `- ${record}`);
          return last.length === 0
            ? "There is nothing in my records."
            : `What I have heard:\n${last.join("\n")}`;
        }

        return isAgent
          ? "127 of 128 tests pass; one timed out and needs another look."
          : "The tests are mine. What shall I check?";
      },
    },
  ],
});

/** Of the English team; the first answers without a key. */
export const englishModels = [examplesModel, ...crew];
