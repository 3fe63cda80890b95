import { useCallback } from "react";
import { inLanguage } from "./chat/service-words.ts";
import { useLanguage } from "./language.tsx";
import { useAsked } from "./asked.ts";

/** What a service is called in the reader's language; undefined: it is none of the team's. */
export function useServiceName(): (name: string) => string | undefined {
  const { language } = useLanguage();
  const { data } = useAsked(["services"], (client, signal) => client.services({ signal }), {
    staleTime: 60_000,
  });

  return useCallback(
    (name) => {
      const found = data?.find((service) => service.name === name);
      return found && inLanguage(found, language).title;
    },
    [data, language],
  );
}
