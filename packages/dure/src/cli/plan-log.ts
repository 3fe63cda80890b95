import type { TranscriptFilter, TranscriptLine } from "../wire/runs.ts";
import { EXIT, type ExitCode } from "./output.ts";
import type { PlansCommand } from "./plans.ts";

/** Characters of one line of a transcript on a screen; `--json` has all of it. */
const MAX_SHOWN = 4_000;

/** `dure plan log`: a port's transcript as it reads, page by page. */
export async function showTranscript(
  id: string,
  port: string,
  filter: Pick<TranscriptFilter, "member" | "search">,
  { client, output }: PlansCommand,
): Promise<ExitCode> {
  const { log: words } = output.words.plans;
  const all: TranscriptLine[] = [];
  let before: TranscriptLine | undefined;
  for (let after = 0; ;) {
    const page = await client.plans.transcript(id, port, { ...filter, after });
    for (const line of page.lines) {
      if (before === undefined || isOtherStep(before, line)) {
        output.line(output.colors.bold(words.head(line.member ?? port, line.try)));
      }
      for (const text of transcriptWords(line)) output.line(text);
      before = line;
    }
    all.push(...page.lines);
    after = page.next;
    if (!page.hasMore) break;
  }
  if (all.length === 0) output.line(words.empty(port));
  output.result({ run: id, port, lines: all });
  return EXIT.ok;
}

function isOtherStep(one: TranscriptLine, other: TranscriptLine): boolean {
  return one.step !== other.step;
}

/** A line as people read it: what it is, then its text. Pure. */
export function transcriptWords({ kind, title, text, status }: TranscriptLine): readonly string[] {
  const ended = status === undefined || status === title ? "" : ` (${status})`;
  const head = `[${kind}]${title === "" ? "" : ` ${title}`}${ended}`;
  const shown = text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
  return [
    head,
    ...shown
      .trimEnd()
      .split("\n")
      .map((line) => `  ${line}`),
  ];
}
