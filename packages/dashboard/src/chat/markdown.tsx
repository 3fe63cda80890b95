import { memo, type ReactNode } from "react";
import ReactMarkdown, { type Components } from "react-markdown";
import { useText } from "../language.tsx";

/**
 * Text of a model, as markdown. Raw HTML stays text, addresses other than http, https and mailto are dropped
 * (react-markdown's own rules), links hand nothing on, and no image is loaded: it would tell others who reads.
 */
export const Markdown = memo(function Markdown({ children }: { children: string }): ReactNode {
  return (
    <div className="markdown">
      <ReactMarkdown components={COMPONENTS}>{children}</ReactMarkdown>
    </div>
  );
});

const COMPONENTS: Components = {
  a: ({ href, children }) => (
    <a href={href} target="_blank" rel="noreferrer noopener">
      {children}
    </a>
  ),
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

function ImageNote({ alt }: { alt: string }): ReactNode {
  return <span className="markdown-image">{useText().chat.imageNotLoaded(alt)}</span>;
}
