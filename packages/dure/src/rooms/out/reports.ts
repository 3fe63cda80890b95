/** What operators read of something that rooms cannot mend by themselves. */

import type { Locale } from "../../kernel/locales.ts";
import type { ChannelFailure } from "../channel-adapter.ts";

/**
 * What operators read of something that rooms cannot mend by themselves: what it is, and what to do
 * about it.
 */
export interface Report {
  readonly title: string;
  readonly description: string;
}

interface Reports {
  /** An account was removed from a server, or lost sight of a channel. */
  readonly accessLost: (who: string, place: string) => Report;
  /** What was missed in a place could not be read. */
  readonly unread: (who: string, place: string, why: string) => Report;
  readonly channelGone: (place: string) => Report;
  readonly refused: (who: string, platform: string, why: string) => Report;
  /** It does not connect for now, so that its token is not lost. */
  readonly resting: (who: string, platform: string, why: string) => Report;
  readonly noToken: (who: string, platform: string, waiting: number) => Report;
  readonly undelivered: (
    who: string,
    place: string,
    why: string,
    failure: ChannelFailure | undefined,
  ) => Report;
  /** It is not known whether it is there. */
  readonly unsure: (who: string, place: string, why: string) => Report;
  readonly unsureThread: (thread: string, why: string) => Report;
  readonly offline: (from: string, to: string, why: string) => Report;
  readonly unanswered: (from: string, to: string, minutes: number, place: string) => Report;
  readonly sinkFailed: (to: string, why: string) => Report;
  /** The agent's model will refuse every call until something is mended. */
  readonly modelRefused: (who: string, why: string) => Report;
}

const DO_KO = {
  permission:
    "봇의 역할에 빠진 권한을 주면 다음 말부터 나가요. 무엇이 빠졌는지는 `dure doctor`가 알려 줘요.",
  "not-found": "그곳이 지워졌어요. 아직 필요하면 다시 부탁해 주세요. 새 스레드에서 이어져요.",
  "rate-limited": "아직 필요하면 다시 시켜 주세요.",
  unavailable: "아직 필요하면 다시 시켜 주세요.",
  credential: "고친 뒤 서버를 다시 시작해 주세요. 무엇이 잘못되었는지는 `dure doctor`가 알려 줘요.",
  full: "플랫폼에 자리가 없어요. 쓰지 않는 스레드를 보관하고 다시 시켜 주세요.",
  invalid: "플랫폼이 이 글을 받지 않아요. 내용을 바꿔 다시 시켜 주세요.",
  transient: "여러 번 보냈지만 플랫폼이 받지 않았어요. 아직 필요하면 다시 시켜 주세요.",
} as const satisfies Record<ChannelFailure, string>;

const DO_EN = {
  permission:
    "Give the bot's role what it lacks, and the next message leaves. `dure doctor` names what is missing.",
  "not-found": "The place is gone. Ask again if you still need it: it goes on in a new thread.",
  "rate-limited": "Ask again if you still need it.",
  unavailable: "Ask again if you still need it.",
  credential: "Mend it and restart the server. `dure doctor` says what is wrong.",
  full: "The platform has no room. Archive threads that are not in use, and ask again.",
  invalid: "The platform does not take this text. Ask again in other words.",
  transient:
    "The platform did not take it, however often it was tried. Ask again if you still need it.",
} as const satisfies Record<ChannelFailure, string>;

const REPORTS = {
  ko: {
    accessLost: (who, place) => ({
      title: `${who} → ${place}: 이 에이전트는 이곳을 더는 볼 수 없어요.`,
      description:
        "봇이 서버에서 내보내졌거나 채널을 볼 권한을 잃었어요. `dure doctor`가 빠진 권한과 다시 초대할 링크를 알려 줘요. 다시 들어오면 이 확인 요청은 저절로 닫혀요.",
    }),
    unread: (who, place, why) => ({
      title: `${who} → ${place}: 자리를 비운 사이에 온 글을 읽지 못했어요.`,
      description:
        `${why}\n‘메시지 기록 보기’ 권한이 있는지 보아 주세요. \`dure doctor\`가 빠진 권한을 알려 줘요. 다시 들리면 이 확인 요청은 ` +
        "저절로 닫혀요.",
    }),
    channelGone: (place) => ({
      title: `${place}: 채널이 없어졌어요.`,
      description:
        "그 안의 스레드도 닫혔어요. 채널을 새로 만들었다면 그 ID를 rooms.channels에 적고, 더 쓰지 않으면 거기서 빼고 `dure reload`를 해 주세요.",
    }),
    refused: (who, platform, why) => ({
      title: `${who} (${platform}): 계정이 거부됐어요.`,
      description: `${why}\n고친 뒤 서버를 다시 시작해 주세요. 그때까지는 다시 시도하지 않아요. 무엇이 잘못되었는지는 \`dure doctor\`가 알려 줘요.`,
    }),
    resting: (who, platform) => ({
      title: `${who} (${platform}): 오늘 더 연결할 수 있는 횟수가 거의 없어 쉬고 있어요.`,
      description:
        "연결이 자꾸 끊겼거나 같은 토큰을 다른 프로그램도 쓰고 있어요. 횟수를 다 쓰면 토큰이 무효가 되니, 토큰을 쓰는 곳이 더 있는지 보아 주세요. 횟수가 다시 차면 스스로 연결하고, 이 확인 요청은 저절로 닫혀요.",
    }),
    noToken: (who, platform, waiting) => ({
      title: `${who} (${platform}): 말 ${waiting}건이 기다리는데 이 계정의 토큰이 없어요.`,
      description: "토큰을 다시 넣고 서버를 다시 시작하면 나가요.",
    }),
    undelivered: (who, place, why, failure) => ({
      title: `${who} → ${place}: 말을 전하지 못했어요.`,
      description: failure === undefined ? why : `${why}\n${DO_KO[failure]}`,
    }),
    unsure: (who, place, why) => ({
      title: `${who} → ${place}: 말이 전해졌는지 알 수 없어요.`,
      description: `${why}\n그곳을 보고 골라 주세요. 그 전에는 다시 보내지 않아요.`,
    }),
    unsureThread: (thread, why) => ({
      title: `${thread}: 스레드가 만들어졌는지 알 수 없어요.`,
      description: `${why}\n채널을 보고 골라 주세요. 그 전에는 다시 만들지 않아요.`,
    }),
    offline: (from, to, why) => ({
      title: `${from} → ${to}: ${to} 님이 연결되어 있지 않아요.`,
      description: `${to}: ${why}\n에이전트 화면에서 계정의 상태를 보아 주세요. 다시 연결되면 새로 부탁할 수 있어요.`,
    }),
    unanswered: (from, to, minutes, place) => ({
      title: `${from} → ${to}: ${minutes}분째 답이 없어요 (${place}).`,
      description:
        "스레드에서 직접 말을 걸거나 다른 에이전트에게 부탁해 주세요. 늦게라도 답하면 이 확인 요청은 저절로 닫혀요.",
    }),
    sinkFailed: (to, why) => ({
      title: `배경에서 나눈 말의 보고를 전하지 못했어요 (${to}).`,
      description: why,
    }),
    modelRefused: (who, why) => ({
      title: `${who}: 모델이 호출을 거절해 답하지 못해요.`,
      description: `${why}\n모델 제공자의 키와 모델 이름을 확인해 주세요. 이 에이전트가 다시 답하면 이 확인 요청은 저절로 닫혀요.`,
    }),
  },
  en: {
    accessLost: (who, place) => ({
      title: `${who} → ${place}: this agent cannot see the place any more.`,
      description:
        "Its bot was removed from the server, or lost the permission to view the channel. " +
        "`dure doctor` names what is missing and the link that invites it again. This closes " +
        "by itself when it is back.",
    }),
    unread: (who, place, why) => ({
      title: `${who} → ${place}: what came meanwhile could not be read.`,
      description:
        `${why}\nSee whether it may read the message history; \`dure doctor\` names what is ` +
        "missing. This closes by itself when it hears again.",
    }),
    channelGone: (place) => ({
      title: `${place}: the channel is gone.`,
      description:
        "Its threads are closed too. If there is a new one put its id into rooms.channels, " +
        "else take it out there, and run `dure reload`.",
    }),
    refused: (who, platform, why) => ({
      title: `${who} (${platform}): the account was refused.`,
      description:
        `${why}\nMend it and restart the server; it is not tried again before that. \`dure ` +
        `doctor\` says what is wrong.`,
    }),
    resting: (who, platform) => ({
      title: `${who} (${platform}): it may connect hardly more often today, and rests.`,
      description:
        "Its connection broke again and again, or another program uses the same token. With no " +
        "start left the token becomes void: see what else uses it. The account connects by " +
        "itself when the platform allows more, and this closes.",
    }),
    noToken: (who, platform, waiting) => ({
      title: `${who} (${platform}): ${waiting} waiting, no token for this account.`,
      description: "Set its token again and restart the server: then they leave.",
    }),
    undelivered: (who, place, why, failure) => ({
      title: `${who} → ${place}: not delivered.`,
      description: failure === undefined ? why : `${why}\n${DO_EN[failure]}`,
    }),
    unsure: (who, place, why) => ({
      title: `${who} → ${place}: it is unknown whether it has arrived.`,
      description: `${why}\nLook there and choose; it is not sent again before that.`,
    }),
    unsureThread: (thread, why) => ({
      title: `${thread}: it is unknown whether the thread was made.`,
      description: `${why}\nLook into the channel and choose; it is not made again before that.`,
    }),
    offline: (from, to, why) => ({
      title: `${from} → ${to}: ${to} is not connected.`,
      description:
        `${to}: ${why}\nSee the state of its accounts on the agents' page. It can be asked ` +
        "again when it is back.",
    }),
    unanswered: (from, to, minutes, place) => ({
      title: `${from} → ${to}: no answer for ${minutes} min (${place}).`,
      description:
        "Speak to it in the thread, or ask another agent. A late answer closes this by itself.",
    }),
    sinkFailed: (to, why) => ({
      title: `The report of background work was not delivered (${to}).`,
      description: why,
    }),
    modelRefused: (who, why) => ({
      title: `${who}: its model refuses every call, so it cannot answer.`,
      description:
        `${why}\nCheck the provider's key and the model's name. This closes by itself when the ` +
        "agent answers again.",
    }),
  },
} as const satisfies Record<Locale, Reports>;

export function roomReports(locale: Locale): Reports {
  return REPORTS[locale];
}
