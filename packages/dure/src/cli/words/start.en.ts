/** What `dure start` and `dure dev` say. */
export const START_EN = {
  answers: (team: string | undefined, url: string) => `${team ?? "The team"} answers at ${url}`,
  openOnce: (link: string) =>
    `Open this once, within 10 minutes: ${link} (dure login prints another one)`,
  toOpen: "To open the page at this machine: dure login",
  unseen: (trouble: string) => `Changes may go unseen: ${trouble}.`,
  waiting: (exitCode: number, folder: string) =>
    `The team stopped with exit code ${exitCode}. Waiting for a change in ${folder} …`,
  takenIn: (files: string) => `${files} changed; it counts from the next answer on.`,
  refused: (files: string) => `${files} changed, and the team answers as before:`,
  restarting: (files: string) => `${files} changed; restarting …`,
};

export type StartWords = typeof START_EN;
