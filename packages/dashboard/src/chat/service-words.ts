import type { ServiceInfo } from "dure/client";
import type { Language } from "../words.ts";

/** A service in the words of a language; what it does not say there stays as it is. Pure. */
export function inLanguage(service: ServiceInfo, language: Language): ServiceInfo {
  const words = service.translations?.find((one) => one.language === language);
  const slots = service.slots?.map((slot) => ({
    ...slot,
    label: slot.labels?.[language] ?? slot.label,
    options: slot.options?.map((one) => ({ ...one, label: one.labels?.[language] ?? one.label })),
  }));

  return {
    ...service,
    slots,
    title: words?.title ?? service.title,
    description: words?.description ?? service.description,
    examples: words?.examples ?? service.examples,
  };
}
