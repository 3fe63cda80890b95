import { queryOptions } from "@tanstack/react-query";
import type { DureClient } from "dure/client";

/** Who asks, and what they may do; the same wherever it is needed. */
export const meOf = (client: DureClient) =>
  queryOptions({
    queryKey: ["me"],
    queryFn: ({ signal }) => client.me({ signal }),
    staleTime: 60_000,
  });
