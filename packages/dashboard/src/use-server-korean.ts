import type { ServerKorean } from "dure/korean";
import { useEffect, useState } from "react";
import { useLanguage } from "./language.tsx";
import { untilRead } from "./lazy-part.ts";

const NONE: ServerKorean = {
  sentence: () => undefined,
  title: () => undefined,
  refusal: () => undefined,
  reason: () => undefined,
  leavesOut: () => false,
};
const SOON: ServerKorean = {
  sentence: () => "",
  title: () => "",
  refusal: () => "",
  reason: () => "",
  leavesOut: () => false,
};

let read: ServerKorean | undefined;
let reading: Promise<ServerKorean> | undefined;

/**
 * Korean for what the server says, on a page in Korean, fetched when it is needed first. Until then
 * it says nothing: English would be no better while no server answers. In another language it knows
 * no words.
 */
export function useServerKorean(): ServerKorean {
  const isKorean = useLanguage().language === "ko";
  const [korean, setKorean] = useState(read);
  useEffect(() => {
    if (!isKorean || korean !== undefined) return;
    void readKorean().then(setKorean);
  }, [isKorean, korean]);

  return isKorean ? (korean ?? SOON) : NONE;
}

function readKorean(): Promise<ServerKorean> {
  return (reading ??= untilRead("server-korean", async () => {
    const { SERVER_KOREAN } = await import("./server-korean.ts");
    read = SERVER_KOREAN;
    return read;
  }));
}
