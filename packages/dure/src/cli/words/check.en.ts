const problems = (count: number): string => `${count} ${count === 1 ? "problem" : "problems"}`;

/** What `dure check` and `dure doctor` say of what they found. */
export const CHECK_EN = {
  marks: { ok: "ok  ", warn: "warn", fail: "fail" },
  configuration: "configuration",
  problems,
  services: (count: number) =>
    count > 0
      ? `${count} ${count === 1 ? "service" : "services"} checked`
      : "0 services checked: services/ has no folder, and the configuration imports no service",
  looking: "Looking at the team, its models and this machine …",
  nothing: "Nothing is in the way of a start.",
  verdict: {
    fail: problems,
    warn: (count: number) => `${count} ${count === 1 ? "warning" : "warnings"}`,
  },
  first: (told: string, first: string) => `${told}. First: ${first}`,
  /** What a finding is about; the rest of its name is a name. */
  about: (name: string) => name,
  unit: (unit: string) => unit,
  none: "none",
};

export type CheckWords = typeof CHECK_EN;
