import type { Browser, Page } from "playwright-core";
import { DureClient } from "dure/client";
import { eventually } from "../../../dure/test/until.ts";
import { openPage, type OpenedPage } from "../browser.ts";
import { startRoomsTeam, type RoomsTeam } from "./team.ts";
import { field, messageWith } from "./visit.ts";

/** How a page of rooms is looked at. */
export interface Sight {
  readonly language: "ko" | "en";
  readonly width: 390 | 768 | 1440;
  readonly scheme: "light" | "dark";
}

export const SIGHTS: readonly Sight[] = (["ko", "en"] as const).flatMap((language) =>
  ([390, 768, 1440] as const).flatMap((width) =>
    (["light", "dark"] as const).map((scheme) => ({ language, width, scheme })),
  ),
);

/** Three people, of whom one looks at the page. */
const PEOPLE = ["민준", "서연", "지우"] as const;
const GENERAL = "web:general";

const SAID = {
  ko: {
    question: "오늘 배포해도 될까요? 아침 회의 전에 알고 싶어요.",
    quote: "> 금요일 배포는 쉬어요.\n\n그럼 **목요일**에 할까요?",
    own: "결제 모듈은 제가 다시 볼게요.",
    long: "이 주소를 봐 주세요: https://example.org/a/very/long/path/that/has/no/place/to/break/at/all/0123456789abcdef",
    thread: "여기에서 이어서 정리해 볼게요.",
    answer: "네, 표부터 볼게요.",
    deleted: "잘못 올린 말",
    later: "그 말은 여기까지예요.",
    search: "배포",
  },
  en: {
    question: "May we release today? I need to know before the morning meeting.",
    quote: "> We do not release on Fridays.\n\nThen on **Thursday**?",
    own: "I will look at the payments again.",
    long: "Have a look at this: https://example.org/a/very/long/path/that/has/no/place/to/break/at/all/0123456789abcdef",
    thread: "Let us sort this out here.",
    answer: "Yes, I will begin with the table.",
    deleted: "Said by mistake",
    later: "That is all of it.",
    search: "release",
  },
} as const;

/** A team whose room has what rooms can have: quotes, threads, signs, what was edited and deleted. */
export async function furnishedTeam(language: Sight["language"]): Promise<RoomsTeam> {
  const team = await startRoomsTeam({ locale: language });
  const client = new DureClient({ baseUrl: team.url });
  const said = SAID[language];
  const [minjun, seoyeon, jiwoo] = PEOPLE.map((name) => client.rooms(name));

  const question = await seoyeon!.post(GENERAL, { text: `@루다 ${said.question}` });
  await answered(client, question);
  await jiwoo!.post(GENERAL, { text: `@서연 ${said.quote}`, replyTo: question });
  const own = await minjun!.post(GENERAL, { text: `@지우 ${said.own}` });
  await minjun!.edit(own, `@지우 ${said.own} 👍`);
  await seoyeon!.post(GENERAL, { text: `@지우 ${said.long}` });
  const deleted = await jiwoo!.post(GENERAL, { text: `@서연 ${said.deleted}` });
  await jiwoo!.delete(deleted);
  const handedOver = await seoyeon!.post(GENERAL, { text: "@루다 이든에게 검토를 부탁해줘" });
  await answered(client, handedOver);
  const below = await seoyeon!.postBelow(GENERAL, { text: `@지우 ${said.thread}`, below: own });
  await jiwoo!.post(below.place, { text: `@서연 ${said.answer}` });
  for (const rooms of [minjun, seoyeon, jiwoo]) await rooms!.react(own, "👍");
  await seoyeon!.react(own, "🎉");
  await minjun!.post(GENERAL, { text: `@서연 ${said.later}` });
  return team;
}

/** All who had to answer have. */
async function answered(client: DureClient, message: string): Promise<void> {
  await eventually(async () => {
    const { roles } = await client.rooms("민준").message(message);
    const open = roles.filter((one) => one.role === "HANDLER" && one.answeredBy === undefined);
    if (open.length > 0 || roles.length === 0) throw new Error(`${message} is not answered`);
  });
}

/** A room as 민준 sees it while something is open on it, one thing after the other. */
export async function* scenes(
  browser: Browser,
  team: RoomsTeam,
  { language, width, scheme }: Sight,
): AsyncGenerator<{ readonly name: string; readonly opened: OpenedPage }> {
  const isTouch = width === 390;
  const said = SAID[language];
  const words = WORDS[language];
  await using opened = await openPage(browser, `${team.url}/healthz`, {
    locale: language === "ko" ? "ko-KR" : "en-US",
    viewport: { width, height: width === 390 ? 844 : 900 },
    colorScheme: scheme,
    ...(isTouch && { hasTouch: true, isMobile: true }),
  });
  const { page } = opened;
  const at = (name: string): { name: string; opened: OpenedPage } => ({ name, opened });
  const press = async (button: ReturnType<Page["locator"]>): Promise<void> =>
    isTouch ? button.tap() : button.click();
  await page.addInitScript(() => localStorage.setItem("dure-person", "민준"));
  const others = new DureClient({ baseUrl: team.url });

  await page.goto(`${team.url}/rooms/${encodeURIComponent(GENERAL)}`);
  opened.complaints.length = 0;
  await messageWith(page, said.later).waitFor();
  await others.rooms("지우").bePresent(GENERAL);
  await others.rooms("서연").bePresent(GENERAL, { typing: true });
  await page.locator(".room-writing", { hasText: "서연" }).waitFor();
  yield at("1-channel");

  const own = messageWith(page, said.own);
  await own.scrollIntoViewIfNeeded();
  if (isTouch) await own.locator(".markdown").tap();
  else await own.hover();
  yield at("2-deeds");
  await press(own.getByRole("button", { name: words.delete }));
  await page.getByText(words.deleteQuestion).waitFor();
  yield at("3-delete");
  if (isTouch) await page.locator(".room-head").tap();
  else await page.keyboard.press("Escape");
  await page.getByText(words.deleteQuestion).waitFor({ state: "detached" });
  if (isTouch) await own.locator(".markdown").tap();
  else await own.hover();
  await press(own.getByRole("button", { name: words.edit }));
  await page.getByText(words.editing).waitFor();
  yield at("4-edit");
  await page.keyboard.press("Escape");
  await field(page).fill("");
  await own.getByRole("button", { name: /👍/u }).focus();
  yield at("5-signs");

  await press(messageWith(page, said.question).locator(".role-mark"));
  await page.locator(".room-picked").waitFor();
  yield at("6-roles");
  if ((await page.getByRole("dialog").count()) > 0) await page.keyboard.press("Escape");

  await field(page).pressSequentially("@");
  await page.getByRole("listbox").waitFor();
  yield at("7-mention");
  await field(page).fill("");

  const menu = page.getByRole("button", { name: words.menu });
  if (await menu.isVisible()) await press(menu);
  await page.getByRole("textbox", { name: words.find }).last().fill(said.search);
  await page.getByRole("region", { name: words.found }).getByRole("link").first().waitFor();
  yield at("8-search");

  await page.goto(`${team.url}/rooms/${encodeURIComponent(GENERAL)}`);
  await press(page.getByRole("link", { name: words.thread }).first());
  await messageWith(page, said.answer).waitFor();
  yield at("9-thread");
  await press(page.getByRole("button", { name: words.panel }).last());
  await page.getByRole("heading", { name: words.participants, exact: true }).waitFor();
  yield at("10-panel");

  await page.goto(`${team.url}/rooms/${encodeURIComponent("web:quiet")}`);
  await page.getByRole("heading", { name: words.empty }).waitFor();
  yield at("11-empty");
}

const WORDS = {
  ko: {
    delete: "지우기",
    deleteQuestion: "이 메시지를 지울까요?",
    edit: "고치기",
    editing: "고치는 중",
    menu: "메뉴 열기",
    find: "방, 에이전트, 메시지 찾기",
    found: "메시지",
    thread: /^스레드 열기/,
    panel: "스레드와 참여자 보기",
    participants: "참여자",
    empty: /첫 메시지를 남겨 보세요/,
  },
  en: {
    delete: "Delete",
    deleteQuestion: "Delete this message?",
    edit: "Edit",
    editing: "Editing",
    menu: "Open menu",
    find: "Find rooms or messages",
    found: "Messages",
    thread: /^Open the thread/,
    panel: "Show threads and participants",
    participants: "Participants",
    empty: /^Write the first message/,
  },
} as const;
