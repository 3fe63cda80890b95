/**
 * The pictures of README, from a real run: `npm run picture`, `npm run picture -- ko`. A person sends money over the real
 * page, the server is killed while the bank books, and is started again. The bank says how often the
 * money moved.
 */
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { startBank, type Bank } from "../../../examples/transfer/bank/bank.ts";
import { testDatabaseUrl } from "../../dure/src/durable/test-database.ts";
import { launchBrowser, openPage, siteInPackage } from "./browser.ts";
import { ServerProcess } from "./real/server-process.ts";

const DOCS = join(import.meta.dirname, "../../../docs");
/** How long the bank thinks, milliseconds: the server dies within it. */
const BANK_MS = 4_000;

const LANGUAGES = {
  en: {
    locale: "en-US",
    service: "Transfer",
    box: "Write a message",
    asks: "Send 50,000 won to John",
    confirm: "Confirm",
    receipt: "Receipt",
    killed: (pid: number) => `The bank is at work: kill -9 ${pid}`,
    back: (count: number) => `Started again. The bank's book: ${count} transfer of 50,000 won`,
  },
  ko: {
    locale: "ko-KR",
    service: "이체",
    box: "메시지 쓰기",
    asks: "홍길동에게 5만원 보내줘",
    confirm: "확인",
    receipt: "영수증",
    killed: (pid: number) => `은행이 일하는 중에 kill -9 ${pid}`,
    back: (count: number) => `다시 켠 뒤. 은행 장부에는 50,000원 이체 ${count}건`,
  },
} as const;
type Words = (typeof LANGUAGES)["en" | "ko"];

const SHEET = `
  body { margin: 0; font: 600 15px "Noto Sans CJK KR", sans-serif; }
  main { display: flex; gap: 16px; padding: 12px; width: max-content; background: #fff; }
  figure { margin: 0; width: 562px; }
  figcaption { padding: 4px 2px 10px; color: #222; }
  img { display: block; width: 560px; border: 1px solid #ccc; border-radius: 8px; }
`;

/** One half of the picture. */
interface Frame {
  readonly caption: string;
  readonly image: Buffer;
}

await siteInPackage();
const browser = await launchBrowser();
try {
  const [wanted] = process.argv.slice(2);
  for (const [language, words] of Object.entries(LANGUAGES)) {
    if (wanted !== undefined && wanted !== language) continue;
    const file = join(DOCS, `kill.${language}.png`);
    await draw(browser, { file, frames: await live(browser, words) });
    console.log(file);
  }
} finally {
  await browser.close();
}

/** A transfer that outlives its server, looked at twice. */
async function live(browser: Browser, words: Words): Promise<readonly Frame[]> {
  await using database = await testDatabaseUrl();
  const bank = await startBank();
  await using server = await ServerProcess.start({
    DATABASE_URL: database.url,
    BANK_URL: bank.url,
  });
  await using opened = await openPage(browser, `${server.url}/chat`, {
    viewport: { width: 560, height: 620 },
    locale: words.locale,
  });
  const { page } = opened;
  page.setDefaultTimeout(60_000);
  try {
    return await killInTheMiddle({ page, server, bank, words });
  } finally {
    await bank.stop();
  }
}

interface Story {
  readonly page: Page;
  readonly server: ServerProcess;
  readonly bank: Bank;
  readonly words: Words;
}

async function killInTheMiddle({ page, server, bank, words }: Story): Promise<readonly Frame[]> {
  await page.getByRole("button", { name: new RegExp(`^${words.service}`) }).click();
  await page.getByRole("textbox", { name: words.box }).fill(words.asks);
  await page.keyboard.press("Enter");
  const yes = page.getByRole("button", { name: words.confirm, exact: true });
  await yes.waitFor();

  bank.addFaults({ kind: "delay", when: "after", ms: BANK_MS });
  await yes.click();
  while (bank.bookings().length === 0) await page.waitForTimeout(20);
  const { pid } = server;
  await server.kill();
  await page.locator('.server-banner [data-tone="gone"]').waitFor();
  const killed = { caption: words.killed(pid), image: await page.screenshot() };

  await startAgain(server);
  await page.getByRole("article", { name: words.receipt }).waitFor();
  await page.locator(".message[data-streaming]").waitFor({ state: "detached" });
  await page.locator('.server-banner [data-tone="gone"]').waitFor({ state: "detached" });

  const count = bank.bookings().length;
  if (count !== 1) throw new Error(`the bank has booked ${count} transfers`);
  return [killed, { caption: words.back(count), image: await page.screenshot() }];
}

/** As a supervisor does: a start that a busy machine lets stand still for long ends with 75. */
async function startAgain(server: ServerProcess, tries = 5): Promise<void> {
  try {
    await server.start();
  } catch (error) {
    if (tries <= 1 || !String(error).includes("ended with 75")) throw error;
    await startAgain(server, tries - 1);
  }
}

/** Both frames side by side, each with its caption. */
async function draw(
  browser: Browser,
  { file, frames }: { readonly file: string; readonly frames: readonly Frame[] },
): Promise<void> {
  const page = await browser.newPage({ viewport: { width: 1_160, height: 700 } });
  const figures = frames.map(
    ({ caption, image }) =>
      `<figure><figcaption>${caption}</figcaption>` +
      `<img src="data:image/png;base64,${image.toString("base64")}"></figure>`,
  );
  await page.setContent(`<style>${SHEET}</style><main>${figures.join("")}</main>`);
  await page.locator("main").screenshot({ path: file });
  await page.close();
}
