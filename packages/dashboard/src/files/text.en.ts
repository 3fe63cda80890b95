import type { FilesText } from "./text.ko.ts";

export const en: FilesText = {
  attach: "Attach files",
  files: "Files of this message",
  detach: (name) => `Remove ${name}`,
  uploading: (name) => `${name} is being uploaded`,
  again: (name) => `Upload ${name} again`,
  leftOut: (count) =>
    `A message takes 10 files. ${count} ${count === 1 ? "was" : "were"} not attached.`,
  blocked: "A file could not be uploaded. Try again, or remove it.",
};
