import { Link } from "@tanstack/react-router";
import { memo, type ReactNode } from "react";
import ReactMarkdown, { type Components, type Options } from "react-markdown";
import { useText } from "../language.tsx";

/**
 * Text of a model, as markdown. Raw HTML stays text, addresses other than http, https and mailto
 * are dropped (react-markdown's own rules), links hand nothing on, and no image is loaded: it would
 * tell others who reads. `plugins` of remark are compared by identity.
 */
export const Markdown = memo(function Markdown({
  children,
  plugins,
}: {
  children: string;
  plugins?: Options["remarkPlugins"];
}): ReactNode {
  return (
    <div className="markdown">
      <ReactMarkdown components={COMPONENTS} remarkPlugins={plugins}>
        {children}
      </ReactMarkdown>
    </div>
  );
});

const COMPONENTS: Components = {
  a: ({ href, children }) => {
    const place = placeOf(href ?? "");
    if (place !== undefined) {
      return (
        <Link to="/rooms/$place" params={{ place }}>
          {children}
        </Link>
      );
    }

    return (
      <a href={href} target="_blank" rel="noreferrer noopener">
        {children}
      </a>
    );
  },
  img: ({ alt }) => <ImageNote alt={alt ?? ""} />,
  pre: ({ children }) => <pre tabIndex={0}>{children}</pre>,
  // A heading of an answer is no heading of the page.
  h1: ({ children }) => <p className="markdown-heading">{children}</p>,
  h2: ({ children }) => <p className="markdown-heading">{children}</p>,
  h3: ({ children }) => <p className="markdown-heading small">{children}</p>,
  h4: ({ children }) => <p className="markdown-heading small">{children}</p>,
  h5: ({ children }) => <p className="markdown-heading small">{children}</p>,
  h6: ({ children }) => <p className="markdown-heading small">{children}</p>,
};

/** The place of an address of this page's own rooms. */
function placeOf(href: string): string | undefined {
  const [, encoded] = /^\/rooms\/([^/?#]+)$/.exec(href) ?? [];
  try {
    return encoded && decodeURIComponent(encoded);
  } catch {
    return undefined; // a model may write anything after a percent sign
  }
}

function ImageNote({ alt }: { alt: string }): ReactNode {
  return <span className="markdown-image soft">{useText().chat.imageNotLoaded({ alt })}</span>;
}
