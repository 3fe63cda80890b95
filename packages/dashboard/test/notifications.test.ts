import { createECDH } from "node:crypto";
import { DureClient } from "dure/client";
import type { Browser, BrowserContext, Page, Worker } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { FULL } from "../../dure/src/kernel/test-tiers.ts";
import { launchBrowser, siteInPackage, SLOW_HOOK_MS } from "./browser.ts";
import { startRoomsTeam, type RoomsTeam } from "./rooms/team.ts";
import { expectWellMade, visit } from "./rooms/visit.ts";

let browser: Browser;
let team: RoomsTeam;

beforeAll(async () => {
  await siteInPackage(); // the server serves it if it is there
  [browser, team] = await Promise.all([launchBrowser(), startRoomsTeam()]);
}, SLOW_HOOK_MS);

afterAll(async () => {
  await browser?.close();
  await team?.[Symbol.asyncDispose]();
});

/** Allowed as by a person. The headless shell says yes when it is asked, and is denied all the same. */
async function allowed(page: Page): Promise<void> {
  await page.context().grantPermissions(["notifications"]);
  await page.addInitScript(() =>
    Object.defineProperty(Notification, "permission", { get: () => "granted" }),
  );
}

/** The browsers of the tests know no push service: what it gives is put in its place. */
async function withPushService(page: Page): Promise<void> {
  await allowed(page);
  const keys = createECDH("prime256v1");
  keys.generateKeys();
  await page.addInitScript(
    ({ p256dh }) => {
      let kept: object | null = null;
      Object.assign(PushManager.prototype, {
        getSubscription: async () => kept,
        subscribe: async ({ applicationServerKey: key }: { applicationServerKey: string }) => {
          const bytes = Uint8Array.from(
            atob(key.replaceAll("-", "+").replaceAll("_", "/")),
            (letter) => letter.codePointAt(0)!,
          );
          kept = {
            options: { applicationServerKey: bytes.buffer },
            toJSON: () => ({
              endpoint: "https://push.example.com/one",
              keys: { p256dh, auth: "A".repeat(22) },
            }),
            unsubscribe: async () => {
              kept = null;
            },
          };
          return kept;
        },
      });
    },
    { p256dh: keys.getPublicKey("base64url") },
  );
}

/** What a push service delivers to the worker of the page. */
async function deliver(page: Page, message: object): Promise<void> {
  const session = await page.context().newCDPSession(page);
  const registered = Promise.withResolvers<string>();
  session.on("ServiceWorker.workerRegistrationUpdated", ({ registrations }) => {
    const id = registrations.at(0)?.registrationId;
    if (id !== undefined) registered.resolve(id);
  });
  await session.send("ServiceWorker.enable");
  await session.send("ServiceWorker.deliverPushMessage", {
    origin: new URL(page.url()).origin,
    registrationId: await registered.promise,
    data: JSON.stringify(message),
  });
  await session.detach();
}

interface Shown {
  readonly title: string;
  readonly body: string;
  readonly tag: string;
  readonly data: string;
}

/** The worker with a screen of its own, where a notification takes the place of one of its tag. */
class Screen {
  readonly #worker: Worker;

  private constructor(worker: Worker) {
    this.#worker = worker;
  }

  static async of(context: BrowserContext): Promise<Screen> {
    const worker = context.serviceWorkers().at(0) ?? (await context.waitForEvent("serviceworker"));
    await worker.evaluate(() => {
      const shown = new Map<string, object>();
      const prototypes = globalThis as unknown as Record<string, { prototype: object }>;
      Object.assign(globalThis, { shown });
      Object.assign(prototypes["ServiceWorkerRegistration"]!.prototype, {
        showNotification: async (title: string, { body, tag, data }: Shown) =>
          void shown.set(tag, { title, body, tag, data }),
      });
      Object.assign(prototypes["WindowClient"]!.prototype, {
        async focus() {
          return this;
        },
      });
    });
    return new Screen(worker);
  }

  shown(): Promise<readonly Shown[]> {
    return this.#worker.evaluate(() => [
      ...(globalThis as unknown as { shown: Map<string, Shown> }).shown.values(),
    ]);
  }

  async click(tag: string): Promise<void> {
    await this.#worker.evaluate(async (pressed) => {
      const { shown } = globalThis as unknown as { shown: Map<string, Shown> };
      const { data } = shown.get(pressed)!;
      const waits: Promise<unknown>[] = [];
      const event = Object.assign(new Event("notificationclick"), {
        notification: { data, close: () => void shown.delete(pressed) },
        waitUntil: (work: Promise<unknown>) => void waits.push(work),
      });
      globalThis.dispatchEvent(event);
      await Promise.all(waits);
    }, tag);
  }
}

test.each([
  { language: "ko", on: "알림 받기", isOn: "페이지를 닫아도 알림이 와요", off: "알림 그만 받기" },
  {
    language: "en",
    on: "Turn on notifications",
    isOn: "You are notified also while the page is closed",
    off: "Turn notifications off",
  },
])(
  "a person turns notifications on in the rooms, chooses what, and turns them off ($language)",
  { ...FULL, timeout: 90_000 },
  async ({ language, on, isOn, off }) => {
    const person = `알림 ${language}`;
    const own = new DureClient({ baseUrl: team.url }).notifications(person);
    await using opened = await visit(browser, person, {
      url: `${team.url}/rooms/web:general`,
      locale: language,
    });
    const { page } = opened;
    await withPushService(page);
    await page.reload();

    await page.getByRole("button", { name: on }).click();
    await page.getByText(isOn).waitFor();
    expect(await own.get()).toMatchObject({ told: "all", browsers: 1 });
    await page.getByRole("combobox").selectOption("mentions-and-answers");
    await expect.poll(async () => (await own.get()).told).toBe("mentions-and-answers");
    await expectWellMade(opened);
    await page.reload();
    await page.getByText(isOn).waitFor();
    await page.getByRole("button", { name: off }).click();
    await page.getByRole("button", { name: on }).waitFor();

    expect((await own.get()).browsers).toBe(0);
  },
);

test("a room is muted in its panel, and heard again", { ...FULL, timeout: 60_000 }, async () => {
  const own = new DureClient({ baseUrl: team.url }).notifications("조용");
  await using opened = await visit(browser, "조용", { url: `${team.url}/rooms/web:quiet` });
  const { page } = opened;

  await page.getByRole("button", { name: "이 방 알림 끄기" }).click();
  await page.getByRole("button", { name: "이 방 알림 켜기" }).waitFor();
  expect((await own.get()).muted).toEqual(["web:quiet"]);
  await page.getByRole("button", { name: "이 방 알림 켜기" }).click();
  await page.getByRole("button", { name: "이 방 알림 끄기" }).waitFor();

  expect((await own.get()).muted).toEqual([]);
});

test(
  "the worker shows a notification once, not of what is looked at, and a click opens it",
  { ...FULL, timeout: 90_000 },
  async () => {
    await using opened = await visit(browser, "받는 이", { url: `${team.url}/rooms/web:general` });
    const { page } = opened;
    await withPushService(page);
    await page.reload();
    await page.getByRole("button", { name: "알림 받기" }).click();
    await page.getByText("페이지를 닫아도 알림이 와요").waitFor();
    const screen = await Screen.of(page.context());
    const told = { title: "이든 님이 답했어요", body: "#조용한 방\n다 했어요", tag: "alert_1" };
    const quiet = { ...told, path: "/rooms/web%3Aquiet#message_1" };

    await deliver(page, { ...told, tag: "alert_0", path: "/rooms/web:general#message_0" });
    await deliver(page, quiet);
    await deliver(page, quiet);
    await deliver(page, { ...told, tag: "alert_2", path: "https://elsewhere.example.com/" });
    await expect
      .poll(() => screen.shown())
      .toEqual([
        { ...told, data: quiet.path },
        { ...told, tag: "alert_2", data: "/" },
      ]);
    await screen.click("alert_1");

    await page.waitForURL(/\/rooms\/web(?::|%3A)quiet#message_1/);
    expect((await screen.shown()).map(({ tag }) => tag)).toEqual(["alert_2"]);
  },
);

test(
  "a browser without a push service says that it tells while the page is open alone",
  { ...FULL, timeout: 60_000 },
  async () => {
    await using opened = await visit(browser, "없는 이", { url: `${team.url}/rooms/web:general` });
    const { page } = opened;
    await allowed(page);
    await page.addInitScript(() => {
      PushManager.prototype.subscribe = async () => {
        throw new DOMException("no push service", "AbortError");
      };
    });
    await page.reload();

    await page.getByRole("button", { name: "알림 받기" }).click();

    await page.getByText("페이지가 열려 있을 때만 알림이 와요").waitFor();
    const own = new DureClient({ baseUrl: team.url }).notifications("없는 이");
    expect((await own.get()).browsers).toBe(0);
  },
);
