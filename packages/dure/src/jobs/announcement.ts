import type { JobError } from "./job.ts";
import type { JobEnd, JobOutcome } from "../kernel/jobs.ts";

/**
 * Outbox topic of the notice for the place where a job was asked: one entry per end of a
 * job, written with it, keyed `job:<id>:announce:<epoch>`. Who handles it (rooms, or a session) delivers it within 120 s
 * (docs/spec/jobs §3).
 */
export const ANNOUNCE_TOPIC = "job.announce";

/** The payload of such an entry. */
export interface JobAnnouncement {
  readonly jobId: string;
  readonly tenant: string;
  /** Where it was asked. */
  readonly session: string;
  readonly turn: string | null;
  readonly requester: string;
  readonly target: string;
  readonly status: JobEnd;
  readonly outcome: JobOutcome;
  /** What was asked. */
  readonly message: string;
  readonly topic: string | null;
  readonly error: JobError | null;
  /** The answer, or what there was of it; null when the asked agent said nothing. */
  readonly reply: string | null;
  /** The agent whose words they are; null: the whole exchange. Absent from older releases. */
  readonly by?: string | null | undefined;
}

/** The notice in words. Says of a job that did not succeed that it did not. Pure. */
export function announcementText(
  notice: JobAnnouncement,
  options: { locale: string; nameOf: (agent: string) => string },
): string {
  const isEnglish = options.locale.startsWith("en");
  const text = endText(notice, options, isEnglish);
  if (!notice.error?.told) return text;
  return isEnglish
    ? `The request that had not succeeded was tried again, and went on. ${text}`
    : `끝내지 못했던 요청을 다시 시도해서 이어 갔어요. ${text}`;
}

function endText(
  notice: JobAnnouncement,
  options: { nameOf: (agent: string) => string },
  isEnglish: boolean,
): string {
  const target = options.nameOf(notice.target);
  const because = notice.error ? ` (${notice.error.message})` : "";
  const said = notice.reply === null ? "" : `\n\n${notice.reply}`;
  switch (notice.status) {
    case "COMPLETED":
      return completedText(notice, target, isEnglish);
    case "CANCELLED":
      return isEnglish
        ? `The request to ${target} was cancelled.`
        : `${target}에게 한 요청이 취소되었어요.`;
    case "ABANDONED":
      return isEnglish
        ? `The request to ${target} was given up${because}. Someone was asked to look at it.`
        : `${target}에게 한 요청을 끝내지 못하고 중단했어요${because}. 담당자에게 확인을 요청했어요.`;
    case "FAILED":
      return isEnglish
        ? `The request to ${target} failed${because}.${said && ` It had said before:${said}`}`
        : `${target}에게 한 요청이 실패했어요${because}.${said && ` 그 전까지의 답변이에요.${said}`}`;
  }
}

function completedText({ reply, by }: JobAnnouncement, target: string, isEnglish: boolean): string {
  if (reply === null) {
    return isEnglish
      ? `${target} had nothing to say to the request.`
      : `${target}의 답변이 없었어요.`;
  }
  if (by === null) {
    return isEnglish
      ? `${target} has dealt with the request. The whole exchange:\n\n${reply}`
      : `${target}에게 한 요청이 끝났어요. 나눈 대화 전체예요.\n\n${reply}`;
  }
  return isEnglish ? `${target} answered:\n\n${reply}` : `${target}의 답변이에요.\n\n${reply}`;
}
