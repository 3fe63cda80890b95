import {
  QueryClient,
  type InvalidateOptions,
  type InvalidateQueryFilters,
  type QueryKey,
} from "@tanstack/react-query";

/**
 * A query client whose `invalidateQueries` also counts for a query that is being asked for the very
 * first time. TanStack's own lets that first answer stand, though the server may have written it
 * before the change: a deleted session stayed in the list. Here the first answer is awaited, and
 * the server is asked once more.
 */
export class FreshQueries extends QueryClient {
  override async invalidateQueries<Key extends QueryKey = QueryKey>(
    filters?: InvalidateQueryFilters<Key>,
    options?: InvalidateOptions,
  ): Promise<void> {
    const begun = this.getQueryCache()
      .findAll(filters)
      .filter(({ state }) => state.fetchStatus === "fetching" && state.data === undefined);
    await super.invalidateQueries(filters, options);
    await Promise.all(
      begun.map(({ queryKey }) => super.invalidateQueries({ queryKey, exact: true }, options)),
    );
  }
}
