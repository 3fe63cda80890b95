import { useNavigate, useSearch } from "@tanstack/react-router";

type AddressChange<Chosen> = { readonly [Name in keyof Chosen]?: string };

/**
 * What an address says by `read`; `set` changes some of it, and empty text takes one away. Going
 * back leaves the page: a choice is no step of its own.
 */
export function useAddress<Chosen extends object>(
  read: (search: Record<string, unknown>) => Chosen,
): { readonly chosen: Chosen; readonly set: (change: AddressChange<Chosen>) => void } {
  const navigate = useNavigate();
  return {
    chosen: read(useSearch({ strict: false })),
    set: (change) =>
      void navigate({
        to: ".",
        search: (before: Record<string, unknown>) => read({ ...before, ...change }),
        replace: true,
      }),
  };
}
