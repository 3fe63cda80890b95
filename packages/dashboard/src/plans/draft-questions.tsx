import { Button, TextInput } from "@mantine/core";
import type { PlanDraft } from "dure/client";
import { useState, type FormEvent, type ReactNode } from "react";
import { useDraftWords } from "./draft-words.ts";
import { DraftTrouble } from "./draft-trouble.tsx";
import { useDraftAnswer } from "./use-drafts.ts";

/** Longest answer, characters. Source: the server's own bound. */
const MAX_ANSWER = 2_000;

/** What a draft asks, and what was answered; the answers make another draft. */
export function DraftQuestions({ draft }: { draft: PlanDraft }): ReactNode {
  const words = useDraftWords();
  const [said, setSaid] = useState<Readonly<Record<string, string>>>({});
  const answer = useDraftAnswer(draft);
  const asked = draft.questions.filter((one) => one.answer === null);
  const answered = draft.questions.filter((one) => one.answer !== null);
  if (draft.questions.length === 0) return null;

  const answers = asked.flatMap(({ question }) => {
    const text = said[question]?.trim() ?? "";
    return text === "" ? [] : [{ question, answer: text }];
  });
  const isReady = answers.length > 0 || (asked.length === 0 && answered.length > 0);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (isReady) answer.mutate(answers);
  };

  return (
    <form className="card stack" onSubmit={submit} aria-label={words.questions}>
      {asked.length > 0 && <h2>{words.questions}</h2>}
      {asked.map(({ question }) => (
        <TextInput
          key={question}
          size="sm"
          maxLength={MAX_ANSWER}
          label={question}
          placeholder={words.asAssumed}
          value={said[question] ?? ""}
          onChange={({ currentTarget: { value } }) =>
            setSaid((before) => ({ ...before, [question]: value }))
          }
        />
      ))}
      {answered.length > 0 && <Answered answered={answered} />}
      <div className="toolbar">
        <Button
          type="submit"
          size="compact-sm"
          variant="default"
          disabled={!isReady}
          loading={answer.isPending}
        >
          {asked.length > 0 ? words.again : words.retell}
        </Button>
      </div>
      <p className="soft small" role="status">
        {answer.isPending && words.drafting}
      </p>
      <DraftTrouble draft={draft} error={answer.error} />
    </form>
  );
}

function Answered({ answered }: { answered: PlanDraft["questions"] }): ReactNode {
  const words = useDraftWords();
  return (
    <>
      <h2>{words.answered}</h2>
      <dl className="stack small">
        {answered.map(({ question, answer }) => (
          <div key={question}>
            <dt className="soft">{question}</dt>
            <dd>{answer}</dd>
          </div>
        ))}
      </dl>
    </>
  );
}
