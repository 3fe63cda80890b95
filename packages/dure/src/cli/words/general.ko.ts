import type { GeneralWords } from "./general.en.ts";

export const GENERAL_KO: GeneralWords = {
  hint: "힌트:",
  defect:
    "dure나 dure가 불러온 모듈의 결함이에요. `LOG_LEVEL=debug`로 실행하면 더 자세히 알려 줘요.",
  taskFailed: (title, code) => `${title}: 실패했어요${code === undefined ? "" : `(${code})`}`,
  more: (cursor) => `더 있어요: --cursor ${cursor}`,
};
