import { expect, test } from "vitest";
import { briefOf } from "../src/events/names.ts";
import { excerptOf } from "../src/jobs/exchange.ts";

test("an excerpt is one line without markdown, and says where it is cut", () => {
  const said = "# 정리\n\n**로그인**은 [여기](https://a.example/x)\n\n- `a.ts` 끝\n> *월요일*";

  expect(excerptOf(said)).toBe("정리 로그인은 여기 a.ts 끝 월요일");
  expect(briefOf("a **greeting** in `x.ts`")).toBe("a greeting in x.ts");
  expect(excerptOf("src/**/*.ts and 2 * 3 * 4, my_name_x")).toBe(
    "src/**/*.ts and 2 * 3 * 4, my_name_x",
  );
  expect(excerptOf("가".repeat(160))).toBe("가".repeat(160));
  expect(excerptOf("가".repeat(161))).toBe(`${"가".repeat(159)}…`);
});
