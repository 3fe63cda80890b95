import type { StartText } from "./text.ko.ts";

export const en: StartText = {
  pageTitle: "Overview",
  what: "dure runs teams of AI agents that lose no work and do nothing twice, even when the server dies.",
  loading: "Loading",
  counts: {
    waiting: "Waiting for me",
    running: "Running",
    failed: "Failed within a day",
    spent: "Spent today",
  },
  tokens: (count) => `${count.toLocaleString("en")} tokens`,
  waiting: {
    title: "Waits for my answer",
    empty: "Nothing waits for you.",
    all: (count) => `Show all ${count}`,
  },
  running: {
    title: "Running now",
    empty: "Nothing runs right now.",
  },
  failed: {
    title: "Failed",
    empty: "Nothing has failed within a day.",
  },
  more: (count) => `and ${count} more`,
  kinds: { job: "Job", run: "Plan run", session: "Conversation", agent: "Agent" },
  answering: (count) => `Answering ${count}`,
  first: {
    title: "First steps",
    lead: "The boxes tick themselves.",
    doneOf: (done, all) => `${done} of ${all} done`,
    done: "Done",
    open: "Open",
    names: {
      model: "Connect a model",
      agent: "Make a first agent",
      room: "Talk in a room",
      plan: "Run a first plan",
    },
    hints: {
      model:
        "Put `ANTHROPIC_API_KEY` or `OPENAI_API_KEY` into `.env` and start the server again. Until then answers are scripted.",
      agent:
        "Make it with `dure new agent mina`, say who it is in its agent.md, and start the server again.",
      room: "Open a room with agents and call one by `@name`.",
      plan: "Make a plan file with `dure new plan login`, look at what it would do, and start it.",
    },
    go: { room: "Open the rooms", plan: "Open the plans" },
  },
  next: {
    title: "Next steps",
    decide: "Answer what waits for you",
    look: "Look at what has failed",
    budget: "Set a budget per day",
    budgetHint: "Put it into `budgets` of the configuration, and no more than that is used.",
    talk: "Start a conversation",
  },
  tour: {
    title: "A tour of three clicks",
    lead: "What this team can do, on three pages, one after the other.",
    begin: "Start the tour",
    next: "Next",
    end: "End the tour",
    label: "Tour",
    stepOf: (step, all) => `${step}/${all}`,
    words: {
      chat: "Press one of the examples. If the server dies while it answers, the answer goes on when it is back.",
      rooms:
        "People and agents talk here together. An agent answers when you write @ and its name.",
      plans:
        "Several coding agents share the work on one repository. What a run would do is shown before it starts.",
      events: "Everything that happens in the team stays here, in order.",
    },
  },
};
