import { useLanguage } from "../language.tsx";
import { en } from "./text.en.ts";
import { ko, type FilesText } from "./text.ko.ts";

export function useFilesText(): FilesText {
  return useLanguage().language === "ko" ? ko : en;
}
