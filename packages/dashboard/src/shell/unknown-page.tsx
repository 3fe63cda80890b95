import { Button } from "@mantine/core";
import { IconMapPinQuestion } from "@tabler/icons-react";
import { Link, useRouter, useRouterState } from "@tanstack/react-router";
import { type ReactNode } from "react";
import { useText } from "../language.tsx";
import { usePageTitle } from "../whole-page.tsx";

/** An address that no page has. */
export function UnknownPage(): ReactNode {
  const words = useText().shell;
  const { history } = useRouter();
  const path = useRouterState({ select: (state) => state.location.pathname });
  usePageTitle(words.unknown.pageTitle);

  return (
    <div className="center-page">
      <IconMapPinQuestion size={36} stroke={1.4} className="soft" aria-hidden />
      <h1>{words.unknown.title}</h1>
      <code>{path}</code>
      <p className="soft">{words.unknown.lead}</p>
      <div className="toolbar">
        {history.canGoBack() && (
          <Button variant="default" onClick={() => history.back()}>
            {words.unknown.back}
          </Button>
        )}
        <Button renderRoot={(props) => <Link to="/" {...props} />}>{words.broken.home}</Button>
      </div>
    </div>
  );
}
