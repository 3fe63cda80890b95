import type { WordsOf } from "../words.ts";

/** Not with the words of every page: the first page needs none of them. */
export const ko = {
  attach: "파일 첨부",
  files: "이 메시지의 파일",
  detach: (name: string) => `${name} 빼기`,
  uploading: (name: string) => `${name} 올리는 중`,
  again: (name: string) => `${name} 다시 올리기`,
  leftOut: (count: number) =>
    `메시지 하나에 파일은 10개까지예요. 나머지 ${count}개는 첨부하지 않았어요.`,
  blocked: "올리지 못한 파일이 있어요. 다시 올리거나 빼 주세요.",
};

export type FilesText = WordsOf<typeof ko>;
