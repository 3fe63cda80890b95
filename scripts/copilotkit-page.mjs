import { CopilotChat, CopilotKitProvider, useInterrupt } from "@copilotkit/react-core/v2";
import { createElement as draw } from "react";
import { createRoot } from "react-dom/client";

/*
 * The smallest page of CopilotKit: a chat with an agent of dure, which asks what the agent asks. The
 * address says which agent. Bundled and served by copilotkit-page-server.mjs.
 */

/** A question of the agent, with its answers as buttons. */
function Question({ interrupt, resolve }) {
  const values = interrupt?.responseSchema?.enum ?? ["ok", "no"];
  const actions = interrupt?.metadata?.actions ?? [];
  const labelOf = (value) => actions.find((action) => action.value === value)?.label ?? value;
  const title = interrupt?.reason === "approval" ? interrupt.message : "";
  const buttons = values.map((value) =>
    draw("button", { key: value, onClick: () => resolve(value) }, labelOf(value)),
  );

  return draw("div", { role: "group", "aria-label": "question" }, draw("p", {}, title), buttons);
}

function Desk({ agent }) {
  useInterrupt({ agentId: agent, render: Question });
  return draw(CopilotChat, { agentId: agent, threadId: `page-${agent}` });
}

const agent = new URLSearchParams(location.search).get("agent") ?? "desk";
const page = draw(
  CopilotKitProvider,
  { runtimeUrl: "/api/copilotkit", showDevConsole: false },
  draw(Desk, { agent }),
);
createRoot(document.querySelector("main")).render(page);
