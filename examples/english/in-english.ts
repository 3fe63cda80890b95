import type { Service } from "dure";

/** The same service with its English words first, and the Korean ones as a translation. */
export function inEnglish(service: Service): Service {
  const { title, description, examples, translations } = service;
  const ko = { title, description, examples };

  return { ...service, ...translations?.["en"], translations: { ko } };
}
