import { describe, expect, test } from "vitest";
import { boundMs } from "../../kernel/test-bounds.ts";
import { ROLE_REASONS } from "../../kernel/role-reasons.ts";
import {
  decideRole,
  decideRoles,
  type AddressedPlace,
  type Addressing,
  type RoleDecision,
} from "./role.ts";

const TEAM = ["ruda", "eden", "seum", "dajim"];

describe("in a channel", () => {
  test("H1 only the mentioned agent answers; the other three record", () => {
    const roles = decide(aMessage({ mentions: ["ruda"] }));

    expect(roles).toEqual({
      ruda: { role: "HANDLER", rank: "PRIMARY", because: "mentioned" },
      eden: { role: "OBSERVER", because: "others-mentioned" },
      seum: { role: "OBSERVER", because: "others-mentioned" },
      dajim: { role: "OBSERVER", because: "others-mentioned" },
    });
  });

  test("H2 without a mention only the default agent answers", () => {
    const roles = decide(aMessage({ place: aChannel({ defaultAgent: "seum" }) }));

    expect(roles["seum"]).toEqual({ role: "HANDLER", because: "default-agent" });
    expect(handlers(roles)).toEqual(["seum"]);
    expect(roles["ruda"]).toEqual({ role: "OBSERVER", because: "not-addressed" });
  });

  test("H3 of two mentioned both answer, ranked by the order of the text", () => {
    const roles = decide(aMessage({ mentions: ["eden", "ruda"] }));

    expect(roles["eden"]).toEqual({ role: "HANDLER", rank: "PRIMARY", because: "mentioned" });
    expect(roles["ruda"]).toEqual({ role: "HANDLER", rank: "SECONDARY", because: "mentioned" });
    expect(handlers(roles)).toEqual(["ruda", "eden"]);
  });

  test("an agent's message without a mention is not answered, not even by the default agent", () => {
    expect(handlers(decide(aMessage({ author: "eden", authorKind: "agent" })))).toEqual([]);
  });

  test("an author that names itself leaves the lead to the next one, and alone addresses no agent", () => {
    const both = decide(
      aMessage({ author: "ruda", authorKind: "agent", mentions: ["ruda", "eden"] }),
    );
    const alone = decide(
      aMessage({
        author: "ruda",
        authorKind: "agent",
        mentions: ["ruda"],
        place: aThread(["ruda", "eden"]),
      }),
    );

    expect(both["eden"]).toEqual({ role: "HANDLER", rank: "PRIMARY", because: "mentioned" });
    expect(alone["eden"]).toEqual({ role: "HANDLER", because: "participant" });
  });

  test("a person whose name on the platform is an agent's id is not taken for that agent", () => {
    expect(decide(aMessage({ author: "ruda", mentions: ["ruda"] }))["ruda"]?.role).toBe("HANDLER");
  });
});

describe("in a thread", () => {
  test("T2 a participant is addressed without a mention", () => {
    const roles = decide(
      aMessage({ author: "ruda", authorKind: "agent", place: aThread(["ruda", "eden"]) }),
    );

    expect(roles["ruda"]).toEqual({ role: "IGNORED", because: "own-message" });
    expect(roles["eden"]).toEqual({ role: "HANDLER", because: "participant" });
  });

  test("T3 the same holds for every later message, of a person too", () => {
    expect(handlers(decide(aMessage({ place: aThread(["ruda", "eden"]) })))).toEqual([
      "ruda",
      "eden",
    ]);
  });

  test("T4 a mention brings another agent in, and only that one answers it", () => {
    const roles = decide(
      aMessage({
        author: "ruda",
        authorKind: "agent",
        mentions: ["seum"],
        place: aThread(["ruda", "eden"]),
      }),
    );

    expect(roles["seum"]).toEqual({
      role: "HANDLER",
      rank: "PRIMARY",
      because: "mentioned",
      joins: true,
    });
    expect(roles["eden"]).toEqual({ role: "OBSERVER", because: "others-mentioned" });
  });

  test("T4 it answers later also without a mention", () => {
    expect(
      handlers(
        decide(
          aMessage({
            author: "ruda",
            authorKind: "agent",
            place: aThread(["ruda", "eden", "seum"]),
          }),
        ),
      ),
    ).toEqual(["eden", "seum"]);
  });

  test("T5 who is not in the thread records, and does not answer", () => {
    expect(
      decide(aMessage({ author: "ruda", authorKind: "agent", place: aThread(["ruda", "eden"]) }))[
        "dajim"
      ],
    ).toEqual({
      role: "OBSERVER",
      because: "not-in-thread",
    });
  });

  test("T7 without the record of participants only a mention is answered", () => {
    expect(handlers(decide(aMessage({ place: aThread([]) })))).toEqual([]);
    expect(decide(aMessage({ mentions: ["eden"], place: aThread([]) }))["eden"]).toEqual({
      role: "HANDLER",
      rank: "PRIMARY",
      because: "mentioned",
      joins: true,
    });
  });

  test("that rests, agents observe each other even when mentioned, and a person is handled", () => {
    const resting = aThread(["ruda", "eden"], { state: "resting" });

    expect(
      decide(aMessage({ author: "ruda", authorKind: "agent", mentions: ["eden"], place: resting }))[
        "eden"
      ],
    ).toEqual({
      role: "OBSERVER",
      because: "place-rests",
    });
    expect(handlers(decide(aMessage({ place: resting })))).toEqual(["ruda", "eden"]);
    expect(handlers(decide(aMessage({ mentions: ["seum"], place: resting })))).toEqual(["seum"]);
  });

  test("that rests or is suspended, a reminder is handled by its target alone", () => {
    for (const state of ["resting", "suspended"] as const) {
      const reminder = aMessage({
        author: "ruda",
        authorKind: "agent",
        isReminder: true,
        mentions: ["eden"],
        place: aThread(["ruda", "eden", "seum"], { state }),
      });

      expect(handlers(decide(reminder))).toEqual(["eden"]);
    }
  });
});

describe("a message that no agent answers", () => {
  test("L1 of a sink is dropped by everybody, mentions or not", () => {
    const roles = decide(
      aMessage({ author: "ruda", authorKind: "agent", fromSink: true, mentions: TEAM }),
    );

    expect(Object.values(roles).map((decision) => decision.role)).toEqual([
      "IGNORED",
      "IGNORED",
      "IGNORED",
      "IGNORED",
    ]);
  });

  test("L2 in a sink's thread is dropped also when a person writes it", () => {
    const roles = decide(aMessage({ fromSink: true, place: aThread(TEAM) }));

    expect(new Set(Object.values(roles).map((decision) => decision.because))).toEqual(
      new Set(["sink-message"]),
    );
  });

  test("is a notice of dure, wherever it stands", () => {
    expect(
      decide(
        aMessage({ author: "ruda", authorKind: "agent", isNotice: true, place: aThread(TEAM) }),
      )["eden"],
    ).toEqual({ role: "IGNORED", because: "notice" });
  });

  test("comes from a foreign bot, unless the policy lets bots in", () => {
    const message = aMessage({ author: "weather", authorKind: "foreign", mentions: ["eden"] });

    expect(decideRole("eden", message, { allowBots: false })).toEqual({
      role: "IGNORED",
      because: "foreign-bot",
    });
    expect(decideRole("eden", message, { allowBots: true }).role).toBe("HANDLER");
  });
});

test("a direct room is seen by its agent alone", () => {
  const roles = decide(
    aMessage({ mentions: ["eden"], place: { ...aChannel(), kind: "direct", directWith: "ruda" } }),
  );

  expect(roles["ruda"]).toEqual({ role: "HANDLER", because: "direct-message" });
  expect(roles["eden"]).toEqual({ role: "IGNORED", because: "direct-with-another" });
});

test("every reason has a sentence in both languages", () => {
  for (const [because, says] of Object.entries(ROLE_REASONS)) {
    expect(because).toMatch(/^[a-z]+(-[a-z]+)*$/);
    expect(says.ko).toMatch(/[가-힣].*\.$/);
    expect(says.en).toMatch(/^[A-Z].*\.$/);
  }
});

test("twenty agents are decided in well under 0.1 ms", () => {
  const agents = Array.from({ length: 20 }, (_, index) => `agent-${index}`);
  const message = aMessage({ author: "agent-0", authorKind: "agent", place: aThread(agents) });
  for (let warm = 0; warm < 2_000; warm++) decideRoles(message, agents, { allowBots: false });

  const times = Array.from({ length: 2_000 }, () => {
    const before = performance.now();
    decideRoles(message, agents, { allowBots: false });
    return performance.now() - before;
  }).sort((a, b) => a - b);

  // the median: the machine may be busy, the bench watches p99
  expect(times[1_000]).toBeLessThan(boundMs(0.1));
});

/**
 * The table of the specification once more, as predicates over a flat case; it shares nothing with
 * the code.
 */
interface Case {
  at:
    | "channel-mine"
    | "channel-others"
    | "channel-nobodys"
    | "thread-in"
    | "thread-out"
    | "direct-mine"
    | "direct-others";
  state: AddressedPlace["state"];
  named: readonly ("me" | "other" | "author")[];
  by: "person" | "me" | "agent" | "foreign-bot";
  sink: boolean;
  notice: boolean;
  reminder: boolean;
  seen: boolean;
  allowed: boolean;
  allowBots: boolean;
  toPerson: boolean;
}

const RULES: readonly (readonly [rule: string, when: (given: Case) => boolean, then: string])[] = [
  ["1", (given) => !given.allowed, "IGNORED place-not-allowed"],
  ["2", (given) => given.seen, "IGNORED seen-before"],
  ["3", (given) => given.by === "me", "IGNORED own-message"],
  ["4", (given) => given.sink, "IGNORED sink-message"],
  ["4 notice", (given) => given.notice, "IGNORED notice"],
  ["5", (given) => given.by === "foreign-bot" && !given.allowBots, "IGNORED foreign-bot"],
  ["6", (given) => given.at === "direct-mine", "HANDLER direct-message"],
  ["6 another's", (given) => given.at === "direct-others", "IGNORED direct-with-another"],
  [
    "6a rests",
    (given) => given.by !== "person" && given.state === "resting" && !given.reminder,
    "OBSERVER place-rests",
  ],
  [
    "6a suspended",
    (given) => given.by !== "person" && given.state === "suspended" && !given.reminder,
    "OBSERVER place-suspended",
  ],
  [
    "7 first, thread",
    (given) => addressed(given)[0] === "me" && inThread(given),
    "HANDLER PRIMARY mentioned joins",
  ],
  ["7 first", (given) => addressed(given)[0] === "me", "HANDLER PRIMARY mentioned"],
  [
    "7 later, thread",
    (given) => addressed(given).includes("me") && inThread(given),
    "HANDLER SECONDARY mentioned joins",
  ],
  ["7 later", (given) => addressed(given).includes("me"), "HANDLER SECONDARY mentioned"],
  ["8", (given) => addressed(given).length > 0, "OBSERVER others-mentioned"],
  ["8a", (given) => given.toPerson, "OBSERVER to-a-person"],
  ["9", (given) => given.at === "thread-in" && given.state === "open", "HANDLER participant"],
  [
    "9 a person wakes",
    (given) => given.at === "thread-in" && given.by === "person" && given.state !== "closed",
    "HANDLER participant",
  ],
  ["9 not open", (given) => given.at === "thread-in", "OBSERVER thread-not-open"],
  ["10", (given) => given.at === "thread-out", "OBSERVER not-in-thread"],
  ["11", (given) => given.at === "channel-mine" && given.by === "person", "HANDLER default-agent"],
  ["12", () => true, "OBSERVER not-addressed"],
];

function inThread(given: Case): boolean {
  return given.at.startsWith("thread");
}

function addressed(given: Case): readonly string[] {
  return given.named.filter((who) => !(who === "author" && given.by === "agent"));
}

test("every combination of place, state, mentions, author and marks follows the table of the specification", () => {
  const used = new Set<string>();
  const differing: { given: Case; expected: string; got: string }[] = [];
  let count = 0;
  for (const given of everyCase()) {
    const [rule, , expected] = RULES.find(([, when]) => when(given))!;
    const decision = decideRole("me", messageOf(given), { allowBots: given.allowBots });
    const got = [decision.role, decision.rank, decision.because, decision.joins && "joins"]
      .filter(Boolean)
      .join(" ");
    if (got !== expected) differing.push({ given, expected, got });
    used.add(rule);
    count++;
  }

  expect(differing.slice(0, 3)).toEqual([]);
  expect([...used].sort()).toEqual(RULES.map(([rule]) => rule).sort()); // no rule is dead
  expect(count).toBe(7 * 4 * 7 * 4 * 128);
});

const PAIRS = [
  [false, false],
  [false, true],
  [true, false],
  [true, true],
] as const;

function* everyCase(): Generator<Case> {
  const flags = [false, true];
  for (const at of [
    "channel-mine",
    "channel-others",
    "channel-nobodys",
    "thread-in",
    "thread-out",
    "direct-mine",
    "direct-others",
  ] as const) {
    for (const state of ["open", "resting", "suspended", "closed"] as const) {
      for (const named of [
        [],
        ["me"],
        ["other"],
        ["me", "other"],
        ["other", "me"],
        ["author"],
        ["author", "me"],
      ] as const) {
        for (const by of ["person", "me", "agent", "foreign-bot"] as const) {
          for (const sink of flags) {
            for (const notice of flags) {
              for (const reminder of flags) {
                for (const seen of flags) {
                  for (const allowed of flags) {
                    for (const [allowBots, toPerson] of PAIRS) {
                      yield {
                        at,
                        state,
                        named,
                        by,
                        sink,
                        notice,
                        reminder,
                        seen,
                        allowed,
                        allowBots,
                        toPerson,
                      };
                    }
                  }
                }
              }
            }
          }
        }
      }
    }
  }
}

function messageOf(given: Case): Addressing {
  return {
    author: { person: "kim", me: "me", agent: "author", "foreign-bot": "weather" }[given.by],
    authorKind: given.by === "person" ? "person" : given.by === "foreign-bot" ? "foreign" : "agent",
    mentions: given.named,
    toPerson: given.toPerson,
    fromSink: given.sink,
    isNotice: given.notice,
    isReminder: given.reminder,
    seen: given.seen,
    place: {
      kind: given.at.startsWith("channel") ? "channel" : inThread(given) ? "thread" : "direct",
      allowed: given.allowed,
      state: given.state,
      participants:
        given.at === "thread-in"
          ? ["author", "me"]
          : given.at === "thread-out"
            ? ["author", "other"]
            : [],
      defaultAgent: DEFAULT_AGENTS[given.at],
      directWith: DIRECT_WITH[given.at],
    },
  };
}

const DEFAULT_AGENTS: Readonly<Record<string, string>> = {
  "channel-mine": "me",
  "channel-others": "other",
};
const DIRECT_WITH: Readonly<Record<string, string>> = {
  "direct-mine": "me",
  "direct-others": "other",
};

function decide(message: Addressing): Record<string, RoleDecision> {
  return Object.fromEntries(decideRoles(message, TEAM, { allowBots: false }));
}

function handlers(roles: Record<string, RoleDecision>): string[] {
  return Object.keys(roles).filter((agent) => roles[agent]?.role === "HANDLER");
}

function aMessage(given: Partial<Addressing> = {}): Addressing {
  return {
    author: "kim",
    authorKind: "person",
    mentions: [],
    toPerson: false,
    fromSink: false,
    isNotice: false,
    isReminder: false,
    seen: false,
    place: aChannel(),
    ...given,
  };
}

function aChannel(given: Partial<AddressedPlace> = {}): AddressedPlace {
  return {
    kind: "channel",
    allowed: true,
    state: "open",
    participants: [],
    defaultAgent: "ruda",
    ...given,
  };
}

function aThread(
  participants: readonly string[],
  given: Partial<AddressedPlace> = {},
): AddressedPlace {
  return { kind: "thread", allowed: true, state: "open", participants, ...given };
}
