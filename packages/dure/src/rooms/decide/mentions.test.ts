import { FULL } from "../../kernel/test-tiers.ts";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { boundMs } from "../../kernel/test-bounds.ts";
import {
  findMentions,
  mentionDirectory,
  neutralize,
  renderMentions,
  takesBack,
} from "./mentions.ts";

const TEAM = mentionDirectory([
  { agent: "ruda", names: ["루다"] },
  { agent: "eden", names: ["이든", "Eden Kim"] },
  { agent: "seum", names: ["세움"] },
  { agent: "code-reviewer", names: ["검토자 🌱", "Zoë"] },
]);

const mentioned = (text: string, directory = TEAM) => findMentions(text, directory).agents;

describe("a text mentions an agent", () => {
  test.each([
    ["H1 by its display name", "@루다 이것 확인해줘", ["ruda"]],
    [
      "H3 and others, in the order of the text, each once",
      "@이든 @루다 그리고 @이든",
      ["eden", "ruda"],
    ],
    ["T4 in the middle of a sentence", "그리고 @세움 도 확인해봐", ["seum"]],
    ["by the platform's mention", "안녕 <@ruda>, <@!eden>님", ["ruda", "eden"]],
    [
      "by its id, in any letter case",
      "@RUDA and @Code-Reviewer: please",
      ["ruda", "code-reviewer"],
    ],
    ["by a name with a space", "@eden kim, please", ["eden"]],
    ["by a name with an emoji, or an accent", "@검토자 🌱 / @Zoë", ["code-reviewer"]],
    ["before punctuation", "(@루다) **@이든** @세움!", ["ruda", "eden", "seum"]],
    ["in markdown's emphasis", "_@ruda_ __@eden__ ~~@seum~~", ["ruda", "eden", "seum"]],
    ["with an English possessive", "see @ruda's list, @eden.", ["ruda", "eden"]],
    ["beside another without a space", "@루다@이든 @세움/@ruda", ["ruda", "eden", "seum"]],
    ["decomposed, as some keyboards write it", "@루다가 왔다".normalize("NFD"), ["ruda"]],
    [
      "by the wide sign that East Asian keyboards give",
      "＠루다 확인 부탁해요.＠이든",
      ["ruda", "eden"],
    ],
    [
      "with laughter, tears or a copula right behind",
      "@루다ㅋㅋ @이든ㅠㅠ 담당은 @세움입니다",
      ["ruda", "eden", "seum"],
    ],
    ["with whatever space stands within its name", "@eden\u00a0kim, @eden  kim도", ["eden"]],
    ["with invisible characters in the name", "@루\u200b다 @e\u2060den", ["ruda", "eden"]],
    [
      "after an ellipsis, a bracket or a line end",
      "…@루다 「@이든」\n@세움",
      ["ruda", "eden", "seum"],
    ],
    ["as the text of a link", "[@루다](https://example.com/@eden)", ["ruda"]],
  ])("%s", (_, text, agents) => {
    expect(mentioned(text)).toEqual(agents);
  });

  test.each([
    "",
    "가",
    "이",
    "은",
    "는",
    "을",
    "를",
    "도",
    "만",
    "와",
    "과",
    "의",
    "에게",
    "한테",
    "께",
    "야",
    "아",
    "랑",
    "이랑",
    "부터",
    "까지",
    "로",
    "으로",
    "에게도",
    "한테는",
    "께서",
    "하고",
    "이가",
    "이한테",
    "랑은",
    "이랑은",
    "으론",
    "께선",
    "더러",
    "보고",
    "이에요",
    "입니다",
  ])("with the Korean particle %j, with and without an honorific", (particle) => {
    for (const honorific of particle.startsWith("이") && particle.length > 1
      ? [""]
      : ["", "님", "씨", "쌤", "님들", "선배님"]) {
      for (const after of [" 봐줘", ", 봐줘", "!", "", "\n"]) {
        expect(
          mentioned(`@루다${honorific}${particle}${after}`),
          honorific + particle + after,
        ).toEqual(["ruda"]);
        expect(mentioned(`<@eden>${honorific}${particle}${after}`)).toEqual(["eden"]);
        expect(mentioned(`@ruda${honorific}${particle}${after}`)).toEqual(["ruda"]);
      }
    }
  });
});

describe("a text mentions no agent", () => {
  test.each([
    ["by a longer name", "@루다인 @루다미 @rudavid @ruda2 @루다가방 @이든든"],
    [
      "by a name that goes on after a hyphen, an underscore, a point or a slash",
      "@ruda-bot @ruda_bot @ruda.com @ruda/pkg @루다-봇",
    ],
    ["by a handle that ends like a name", "@myruda @내루다 ＠내루다 my＠ruda"],
    ["in an e-mail address", "a@ruda.com a@ruda kim.lee@eden.co.kr 홍@루다 ä@ruda"],
    ["without the sign", "루다 ruda <ruda> @ 루다 @\n루다"],
    ["in inline code", "`@루다` and ``x ` @이든`` and ```@세움```"],
    ["in a fenced block", "```\n@루다\n```\n~~~ts\n@이든\n~~~\n   ````md\n```\n@세움\n````"],
    ["in a fenced block that is never closed", "보세요\n```ts\n@루다"],
    ["in a quotation", "> @루다 이것 봐줘\n  > @이든\n>@세움"],
    ["in a quotation of all that follows", ">>> 어제 기록\n@루다 안녕\n\n@이든"],
    [
      "in an address of the web",
      "https://example.com/@루다 http://x.io/@ruda/post HTTPS://X.IO/@eden",
    ],
    ["by an id that the directory does not have", "<@nobody> <@ruda-2> @nobody <@123456789>"],
    ["when an invisible character takes it back", "@\u200b루다 <@\u200bruda>"],
  ])("%s", (_, text) => {
    expect(findMentions(text, TEAM)).toEqual({ agents: [], everyone: false });
  });

  test.each(["@everyone", "hello @here!", "@EVERYONE 봐주세요", "@here님들 @everyone"])(
    "with %j, and the text says so",
    (text) => {
      expect(findMentions(text, TEAM)).toEqual({ agents: [], everyone: true });
    },
  );

  test("when everyone is only quoted, code, taken back, or another word", () => {
    for (const text of [
      "> @everyone",
      "`@here`",
      neutralize("@everyone @HERE"),
      "@hereafter",
      "a@here",
    ]) {
      expect(findMentions(text, TEAM).everyone).toBe(false);
    }
  });
});

test.each([
  ["@루다 말고 @이든이 봐줘", ["eden"]],
  ["@이든님 아니고 @루다 <@seum>", ["ruda", "seum"]],
  ["<@ruda> 대신 <@eden>이 해줘", ["eden"]],
  ["@eden please, not @ruda", ["eden"]],
  ["ask <@eden> instead of <@ruda>", ["eden"]],
  ["@루다 말고 누가 볼까?", ["ruda"]],
  ["why not @ruda or @eden?", ["ruda", "eden"]],
])("of %j those are meant that are not taken back", (text, agents) => {
  expect(mentioned(text)).toEqual(agents);
});

test.each([
  ["루다 말고 @이든", true],
  ["oops, @eden please, not ruda", true],
  ["아루다 말고 @이든", false],
  ["@eden, not rudayard", false],
  ["`not ruda` @eden", false],
])("%j takes 루다 back: %s", (text, isTaken) => {
  expect(takesBack(text, "ruda", TEAM)).toBe(isTaken);
});

test("what stands beside code and quotations still counts", () => {
  expect(mentioned("`code`@루다 `x` @이든\n> quoted @nobody\n@세움")).toEqual([
    "ruda",
    "eden",
    "seum",
  ]);
  expect(mentioned("```\ncode``` @루다")).toEqual(["ruda"]);
  expect(mentioned("a ` b\n\n@루다 ` c")).toEqual(["ruda"]); // a span does not go beyond its paragraph
  expect(mentioned("`` a ` @루다")).toEqual(["ruda"]);
  expect(mentioned("a > b @루다")).toEqual(["ruda"]);
});

test("of names that begin alike the longest wins, and a particle belongs to it", () => {
  const both = mentionDirectory([
    { agent: "a", names: ["이든"] },
    { agent: "b", names: ["이든이"] },
    { agent: "c", names: ["이든 팀장"] },
  ]);

  expect(
    ["@이든", "@이든은", "@이든이", "@이든이가", "@이든 팀장님", "@이든 팀"].map(
      (text) => mentioned(text, both)[0],
    ),
  ).toEqual(["a", "a", "b", "b", "c", "a"]);
  expect(mentioned("@이든이가")).toEqual(["eden"]);
});

test("of equal names an id comes first, then the agent that is listed first", () => {
  const directory = mentionDirectory([
    { agent: "first", names: ["Twin", "second", "everyone", " ", ""] },
    { agent: "second", names: ["twin"] },
  ]);

  expect(mentioned("@twin", directory)).toEqual(["first"]);
  expect(mentioned("@second", directory)).toEqual(["second"]);
  expect(mentioned("@everyone", directory)).toEqual([]);
});

test("at most 500 mentions of a text are considered", () => {
  expect(mentioned(`${"@nobody ".repeat(499)}@루다 @이든`)).toEqual(["ruda"]);
});

test("a mention is found wherever it stands between plain words, and only then", () => {
  const word = fc.constantFrom("안녕", "hello", "루다", "ruda", "a@b.com", "👋", "-", "12", "…");
  fc.assert(
    fc.property(
      fc.array(word),
      fc.constantFrom("@루다", "@루다가", "<@ruda>", "@Ruda님께서"),
      fc.array(word),
      fc.constantFrom(" ", "\n"),
      (before, mention, after, space) => {
        expect(mentioned([...before, mention, ...after].join(space))).toEqual(["ruda"]);
        expect(mentioned([...before, ...after].join(space))).toEqual([]);
      },
    ),
  );
});

test("texts of 100,000 characters made to be slow are read in linear time", FULL, () => {
  const crowd = mentionDirectory(
    Array.from({ length: 100 }, (_, index) => ({
      agent: `agent-${"x".repeat(index)}`,
      names: [`이름${"가".repeat(index)}`],
    })),
  );
  const hostile = [
    "@",
    "@\u0301\u0323",
    "`",
    "`` ` ",
    "<@",
    "@루다",
    " @루다 ",
    "@이름가가",
    "> ",
    "\n>",
    "```\n",
    "~~~\n",
    "~",
    "\n ",
    "https://",
    "@\u200b",
    "\u0301\u0323",
    "@_",
    "@agent-xxxxxxxx",
    "(@루".normalize("NFD"),
    "http",
    "@가".normalize("NFD"),
  ];
  for (const piece of hostile) {
    const text = piece.repeat(Math.floor(99_000 / piece.length)) + " @루다";
    for (const hostileText of [text, `@${text}`, `${" @x".repeat(300)}${text}`]) {
      const before = performance.now();
      findMentions(hostileText, crowd);

      expect(performance.now() - before, JSON.stringify(piece)).toBeLessThan(boundMs(500));
    }
  }
});

test("mentions are shown by display names, unknown ones as they are", () => {
  const names: Record<string, string> = { ruda: "루다", eden: "이든" };

  expect(renderMentions("<@ruda>, <@!eden> & <@nobody> <@ ruda>", (agent) => names[agent])).toBe(
    "@루다, @이든 & <@nobody> <@ ruda>",
  );
});

test("everyone is made harmless wherever it stands, once", () => {
  expect(neutralize("@everyone, a@here! @Everyones")).toBe(
    "@\u200beveryone, a@\u200bhere! @\u200bEveryones",
  );
  expect(neutralize(neutralize("@everyone"))).toBe(neutralize("@everyone"));
});
