import { useQuery } from "@tanstack/react-query";
import type { ServiceInfo } from "dure/client";
import { useCallback } from "react";
import { useParts } from "./app-parts.tsx";
import { inLanguage } from "./chat/service-words.ts";
import { useLanguage } from "./language.tsx";

/** What a service is called in the reader's language; undefined: it is none of the team's. */
export function useServiceName(): (name: string) => string | undefined {
  const { client } = useParts();
  const { language } = useLanguage();
  const { data } = useQuery({
    queryKey: ["services"],
    queryFn: ({ signal }): Promise<readonly ServiceInfo[]> => client.services({ signal }),
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
