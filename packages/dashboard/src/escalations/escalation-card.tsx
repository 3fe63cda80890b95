import { Button } from "@mantine/core";
import { IconAlertOctagon, IconAlertTriangle, IconCheck, IconInfoCircle } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { DureError, messageOf, type Escalation } from "dure/client";
import { useState, type ReactNode } from "react";
import { useParts } from "../app-parts.tsx";
import { Facts } from "../facts.tsx";
import { useLanguage, useText } from "../language.tsx";
import { whenOf } from "../when.ts";
import "./escalations.css";
import { aboutOf } from "./order.ts";

const ICONS = { critical: IconAlertOctagon, warning: IconAlertTriangle, info: IconInfoCircle } as const;

/** A question to a person: what it is about, and its answers as buttons. In the inbox it says where it came from, too. */
export function EscalationCard(props: { escalation: Escalation; place: "conversation" | "inbox"; onAnswer: (value: string) => Promise<void> }): ReactNode {
  const { escalation, place, onAnswer } = props;
  const { text, language } = useLanguage();
  const { severity, status, type } = escalation;
  const Icon = status === "answered" ? IconCheck : ICONS[severity];
  return (
    <article className="escalation" data-severity={severity} data-status={status} aria-label={text.escalations.titles[type] ?? text.escalations.title}>
      <header>
        <Icon size={17} aria-hidden />
        <strong>{text.escalations.titles[type] ?? text.escalations.title}</strong>
        <span className="escalation-severity">{status === "open" ? text.escalations.severities[severity] : text.escalations.statuses[status]}</span>
      </header>
      <p className="escalation-question">{escalation.question}</p>
      <Facts value={aboutOf(escalation)} />
      {status === "open" ? <Answers escalation={escalation} onAnswer={onAnswer} /> : <Closed escalation={escalation} />}
      <footer>
        {place === "inbox" && escalation.session !== null && (
          <Link to="/chat/$session" params={{ session: escalation.session }}>
            {text.escalations.toConversation}
          </Link>
        )}
        <time dateTime={new Date(escalation.createdAt).toISOString()}>{text.escalations.asked(whenOf(escalation.createdAt, language))}</time>
        {status === "open" && escalation.expiresAt !== null && <span>{text.escalations.until(whenOf(escalation.expiresAt, language))}</span>}
      </footer>
    </article>
  );
}

function Answers({ escalation, onAnswer }: { escalation: Escalation; onAnswer: (value: string) => Promise<void> }): ReactNode {
  const text = useText();
  const { client } = useParts();
  const me = useQuery({ queryKey: ["me"], queryFn: ({ signal }) => client.me({ signal }), staleTime: 60_000 });
  const [chosen, setChosen] = useState<string>();
  const [problem, setProblem] = useState<unknown>();
  if (me.data !== undefined && !me.data.scopes.includes("admin")) return <p className="soft small">{text.escalations.notYours}</p>;

  const answer = async (value: string): Promise<void> => {
    setChosen(value);
    setProblem(undefined);
    try {
      await onAnswer(value);
    } catch (error) {
      setProblem(error);
    } finally {
      setChosen(undefined);
    }
  };
  return (
    <>
      <div className="choices">
        {escalation.options.map(({ value, label }, index) => (
          <Button key={value} size="sm" variant={index === 0 && escalation.type === "decision" ? "filled" : "default"} loading={chosen === value} disabled={chosen !== undefined && chosen !== value} onClick={() => void answer(value)}>
            {label}
          </Button>
        ))}
      </div>
      {problem !== undefined && (
        <p className="error-note small" role="alert">
          {messageOf(problem)} {problem instanceof DureError ? problem.hint : ""}
        </p>
      )}
    </>
  );
}

function Closed({ escalation }: { escalation: Escalation }): ReactNode {
  const { text, language } = useLanguage();
  const { answer, answeredAt, answeredBy, options } = escalation;
  if (answer === null || answeredAt === null) return null;
  const label = options.find(({ value }) => value === answer)?.label ?? answer;
  return <p className="escalation-answer">{text.escalations.answered(label, answeredBy ?? "", whenOf(answeredAt, language))}</p>;
}
