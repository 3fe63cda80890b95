import { Button, Loader } from "@mantine/core";
import { DureError } from "dure/client";
import { Link } from "@tanstack/react-router";
import { useEffect, type ReactNode } from "react";
import { useText } from "./language.tsx";
import { ErrorWords } from "./problem.tsx";

/** What the browser calls the page. */
export function usePageTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · dure`;
  }, [title]);
}

/** A page whose matter is being read. */
export function Reading({ label }: { label: string }): ReactNode {
  return (
    <div className="center-page">
      <Loader type="dots" role="status" aria-label={label} />
    </div>
  );
}

interface UnreadProps {
  /** Null while it is being read. */
  readonly error: Error | null;
  readonly onRetry: () => void;
  readonly words: { readonly gone: string; readonly goneHint: string };
  readonly reading: string;
  readonly failed: string;
  /** By which classes of errors it is gone. */
  readonly goneBy?: readonly string[];
  /** What the browser calls the page; without it, what the page says. */
  readonly title?: string;
  /** Where a person goes on from what is gone. */
  readonly to: "/" | "/agents" | "/jobs" | "/plans";
  readonly children: string;
}

/** A page whose matter is being read, is not there, or could not be read now. */
export function Unread({ error, goneBy = ["not-found"], ...props }: UnreadProps): ReactNode {
  const text = useText();
  const isGone = error instanceof DureError && goneBy.includes(error.class);
  const said = isGone ? props.words.gone : props.failed;
  const title = props.title ?? (error === null ? undefined : said);
  useEffect(() => {
    if (title !== undefined) document.title = `${title} · dure`;
  }, [title]);
  if (error === null) return <Reading label={props.reading} />;

  return (
    <div className="center-page">
      <h1>{said}</h1>
      <p className="soft">{isGone ? props.words.goneHint : <ErrorWords error={error} />}</p>
      {isGone ? (
        <Button component={Link} to={props.to} variant="default">
          {props.children}
        </Button>
      ) : (
        <Button variant="default" onClick={props.onRetry}>
          {text.common.retry}
        </Button>
      )}
    </div>
  );
}
