// @module-tag slow
import { FULL } from "../../dure/src/kernel/test-tiers.ts";
import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { expect, test } from "vitest";
import { editFolder, startEditTeam } from "../../dure/test/agents/edit-team.ts";
import { violations } from "./browser.ts";
import { realPages, SLOW } from "./real-pages.ts";

const pages = realPages();

test(
  "a persona is edited on the agent's page, looked at in its history, and brought back",
  SLOW,
  async () => {
    const place = await editFolder();
    const { team, promptOf } = await startEditTeam(place, null);
    await using opened = await pages.open(`${team.url}/agents/eden`);
    const { page, complaints } = opened;
    const files = page.getByRole("region", { name: "이 에이전트를 만드는 파일" });
    const history = page.getByRole("region", { name: "바뀐 이력" });
    const box = files.getByRole("textbox", { name: "agents/eden/SOUL.md" });

    await history.getByText("여기서 바꾼 적이 없어요.").waitFor();
    await files.getByRole("button", { name: "agents/eden/SOUL.md 고치기" }).click();
    await box.fill("You are quick.\n");
    await page.reload(); // what was written outlives it
    await files.getByRole("button", { name: "agents/eden/SOUL.md 고치기" }).click();
    await expect.poll(() => box.inputValue()).toBe("You are quick.\n");
    await files.getByRole("button", { name: "저장", exact: true }).click();
    await files.getByText("저장했어요. 다음 답부터 쓰여요.").waitFor();
    expect(await promptOf("eden")).toContain("You are quick.");

    const change = history.getByRole("listitem").filter({ hasText: "SOUL.md" });
    await expect.poll(() => change.innerText()).toContain("+1 −1");
    await change.locator("summary").first().click();
    await change.getByText("You are calm.").waitFor();
    expect(await violations(page)).toEqual([]);
    await change.getByRole("button", { name: "이 변경 전으로 되돌리기" }).click();
    await files.getByText("You are calm.").waitFor();
    await history.getByText("되돌림", { exact: true }).waitFor();
    expect(await promptOf("eden")).toContain("You are calm.");
    expect(complaints).toEqual([]);
  },
);

test(
  "a text that was changed meanwhile is shown, and saved over only when asked",
  { ...FULL, ...SLOW },
  async () => {
    const place = await editFolder();
    const { team, promptOf } = await startEditTeam(place, null);
    await using opened = await pages.open(`${team.url}/agents/eden`);
    const files = opened.page.getByRole("region", { name: "이 에이전트를 만드는 파일" });
    await files.getByRole("button", { name: "agents/eden/SOUL.md 고치기" }).click();
    await files.getByRole("textbox", { name: "agents/eden/SOUL.md" }).fill("You are mine.\n");
    await writeFile(path.join(place.folder, "agents/eden/SOUL.md"), "You are an editor's.\n");

    await files.getByRole("button", { name: "저장", exact: true }).click();

    await files.getByRole("alert").getByText("열어 본 뒤에 바뀌었어요.").waitFor();
    await files.getByText("You are an editor's.").waitFor();
    expect(await violations(opened.page)).toEqual([]);
    await files.getByRole("button", { name: "그래도 내 글로 저장하기" }).click();
    await files.getByText("저장했어요. 다음 답부터 쓰여요.").waitFor();
    expect(await promptOf("eden")).toContain("You are mine.");
  },
);

test(
  "who edits an agent of one file reads which settings may stand at its top",
  { ...FULL, ...SLOW },
  async () => {
    const place = await editFolder();
    await mkdir(path.join(place.folder, "agents/nari"), { recursive: true });
    await writeFile(
      path.join(place.folder, "agents/nari/agent.md"),
      "---\nname: 나리\n---\nHelp.\n",
    );
    const { team } = await startEditTeam(place, null);
    await using opened = await pages.open(`${team.url}/agents/nari`);
    const files = opened.page.getByRole("region", { name: "이 에이전트를 만드는 파일" });
    await files.getByRole("button", { name: "agents/nari/agent.md 고치기" }).click();

    await files.getByText("agent.md에 쓸 수 있는 것").click();
    const keys = await files.locator(".agent-may-hold dt").allTextContents();

    expect(keys.slice(0, 4)).toEqual(["name", "description", "leads", "model"]);
    expect(keys).toContain("approvals");
    expect(keys.filter((key) => key.includes("."))).toEqual([]);
    expect(await violations(opened.page)).toEqual([]);
  },
);

test(
  "a card that cannot be used is not saved, and an agent of a service says why it is fixed",
  { ...FULL, ...SLOW },
  async () => {
    const { team } = await startEditTeam(await editFolder(), null);
    await using opened = await pages.open(`${team.url}/agents/eden`);
    const { page } = opened;
    const files = page.getByRole("region", { name: "이 에이전트를 만드는 파일" });
    const card = files.locator("details", { hasText: "agents/eden/agent.yaml" }).first();
    await card.locator("summary").first().click();
    await files.getByRole("button", { name: "agents/eden/agent.yaml 쓰기" }).click();
    await files
      .getByRole("textbox", { name: "agents/eden/agent.yaml" })
      .fill("card:\n  llm: opnai:gpt\n");
    await files.getByRole("button", { name: "저장", exact: true }).click();

    const alert = files.getByRole("alert");
    await alert.getByText("아무것도 저장하지 않았어요").waitFor();
    await alert.getByText("openai").waitFor();

    await page.goto(`${team.url}/agents/seum`);
    await files.getByText("이 에이전트는 서비스를 거쳐 답해요.").waitFor();
    expect(await files.getByRole("button").count()).toBe(0);
  },
);
