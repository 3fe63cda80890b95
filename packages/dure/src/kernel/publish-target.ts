/** Where the result of a run goes when a person publishes it. */
export interface PublishTarget {
  readonly remote: string;
  readonly branch: string;
  /** The branch that the pull request goes into, as the plan names it. */
  readonly base: string;
  readonly title: string;
  readonly pullRequest: "gh" | "glab" | "none";
}

interface Published {
  readonly name: string;
  readonly base: string;
  readonly ports: readonly { readonly title: string }[];
  readonly publish?:
    | {
        readonly remote: string;
        readonly branch?: string | undefined;
        readonly pullRequest: PublishTarget["pullRequest"];
      }
    | undefined;
}

/** Undefined where the plan does not say where to publish. `branch`: that of the result. Pure. */
export function publishTarget(
  { name, base, ports, publish }: Published,
  branch: string | undefined,
): PublishTarget | undefined {
  if (publish === undefined) return undefined;
  const { remote, pullRequest } = publish;

  return {
    remote,
    branch: publish.branch ?? branch ?? `dure/${name}`,
    base,
    title: resultTitle({ name, ports }),
    pullRequest,
  };
}

/** A plan of one port is told by its port. Pure. */
export function resultTitle({ name, ports }: Pick<Published, "name" | "ports">): string {
  const [only, ...more] = ports;
  return only !== undefined && more.length === 0 ? only.title : name;
}
