/** What any command may say. */
export const GENERAL_EN = {
  hint: "Hint:",
  defect: "This is a defect of dure, or of a module that it loads; LOG_LEVEL=debug says more.",
  taskFailed: (title: string, code: string | undefined) =>
    `${title}: failed${code === undefined ? "" : ` (${code})`}`,
  more: (cursor: string) => `There are more: --cursor ${cursor}`,
};

export type GeneralWords = typeof GENERAL_EN;
