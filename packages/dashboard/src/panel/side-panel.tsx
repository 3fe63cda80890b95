import { Tabs } from "@mantine/core";
import type { JsonObject, ServiceInfo } from "dure/client";
import { useState, type ReactNode } from "react";
import type { Conversation, ConversationView } from "dure/react";
import { useText } from "../language.tsx";
import { AgentLog } from "./agent-log.tsx";
import { MemoryView } from "./memory-view.tsx";
import "./panel.css";
import { StateView } from "./state-view.tsx";
import { TraceView } from "./trace-view.tsx";

export interface SidePanelProps {
  readonly conversation: Conversation;
  readonly view: ConversationView;
  readonly service: ServiceInfo | undefined;
  readonly onSlots: (words: string, slots: JsonObject) => void;
}

/** The chosen tab outlives the conversation: who watches the state goes on watching it. */
let lastTab: string | null = "agents";

export function SidePanel({ conversation, view, service, onSlots }: SidePanelProps): ReactNode {
  const text = useText();
  const [tab, setTab] = useState(lastTab);
  const choose = (next: string | null): void => setTab((lastTab = next));

  return (
    <Tabs value={tab} onChange={choose} className="panel grow column flush" keepMounted={false}>
      <Tabs.List grow>
        <Tabs.Tab value="agents">{text.panel.agents}</Tabs.Tab>
        <Tabs.Tab value="state">{text.panel.state}</Tabs.Tab>
        <Tabs.Tab value="memory">{text.panel.memory}</Tabs.Tab>
        <Tabs.Tab value="trace">{text.panel.trace}</Tabs.Tab>
      </Tabs.List>
      <Tabs.Panel value="agents" tabIndex={0}>
        <AgentLog view={view} />
      </Tabs.Panel>
      <Tabs.Panel value="state" tabIndex={0}>
        <StateView view={view} service={service} onSlots={onSlots} />
      </Tabs.Panel>
      <Tabs.Panel value="memory" tabIndex={0}>
        <MemoryView sessionId={conversation.sessionId} version={view.entries.length} />
      </Tabs.Panel>
      <Tabs.Panel value="trace" tabIndex={0}>
        <TraceView trace={view.trace} />
      </Tabs.Panel>
    </Tabs>
  );
}
