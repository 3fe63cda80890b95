import type { Name } from "./team.ts";

/**
 * Messages of rooms as people and agents write them, each with the agents that must answer, in
 * their order. All others must not. Written by hand, after docs/spec/collaboration §2.
 *
 * The team: 루다 leads and is the channel's default agent; 이든, 세움 and 다짐 are in the channel too.
 * 루다 and 이든 take part in the thread. The direct room is that of 이든.
 */
export interface Said {
  readonly where: "channel" | "thread" | "direct";
  /** An agent, a bot of others, or a person. */
  readonly by: "person" | "foreign" | Name;
  readonly text: string;
  readonly answers: readonly Name[];
  /** As a reply to the newest message of this author in the place. */
  readonly replyTo?: Name | "person" | undefined;
  /** What was forwarded with it, where the platform has forwards; else it stands as a quotation. */
  readonly forwarded?: string | undefined;
  /** What the message becomes; nothing may follow from it. */
  readonly editedTo?: string | undefined;
}

type Line = readonly [text: string, answers: string];

const CHANNEL_OF_ALL: readonly Line[] = [
  // No agent is named: the default agent, and no other.
  ["오늘 일정 알려줘", "ruda"],
  ["배포 언제 해요?", "ruda"],
  ["안녕하세요!", "ruda"],
  ["ㅎㅇ", "ruda"],
  ["고마워 루다", "ruda"],
  ["루다야 고마워 🙏", "ruda"],
  ["감사합니다~ 덕분에 살았어요 ㅠㅠ", "ruda"],
  ["ㄱㅅㄱㅅ", "ruda"],
  ["👍", "ruda"],
  ["🙏🙏🙏", "ruda"],
  ["ㅋㅋㅋㅋㅋㅋㅋ", "ruda"],
  ["넵", "ruda"],
  ["아 맞다 그거 취소할게", "ruda"],
  ["결재 모듈 어디까지 됬어?", "ruda"],
  ["로그인 페이지가 안되요 ㅠ 왜이러죠", "ruda"],
  ["혹시 지난주 회의록 있으신 분?", "ruda"],
  ["점심 뭐 먹지", "ruda"],
  ["무엇이든 물어봐도 되나요?", "ruda"],
  ["어디든 상관없어, 언제든 좋아", "ruda"],
  ["새 서버든 옛 서버든 하나만 켜 주세요", "ruda"],
  ["다짐했던 거 이번엔 꼭 지키자", "ruda"],
  ["올해의 다짐을 한 줄로 써 줘", "ruda"],
  ["세움터에 신고해야 하나요?", "ruda"],
  ["기둥을 세움으로써 구조가 안정됩니다. 맞아?", "ruda"],
  ["이루다라는 이름 들어봤어?", "ruda"],
  ["루다랑 이든 중에 누가 더 빨라?", "ruda"],
  ["세움이 만든 표 다시 보여줘", "ruda"],
  ["이든한테는 내가 말할게", "ruda"],
  ["다짐이는 오늘 쉬는 날이래", "ruda"],
  ["루다, 이거 좀 봐줄래?", "ruda"],
  ["루다님 확인 부탁드립니다.", "ruda"],
  ["ruda 확인 plz", "ruda"],
  ["Eden already looked at it yesterday.", "ruda"],
  ["Can someone restart the staging server?", "ruda"],
  ["thx!", "ruda"],
  ["lgtm 🚀", "ruda"],
  ["What's the ETA on the invoice fix?", "ruda"],
  ["sorry wrong channel", "ruda"],
  ["I'm heading out, see you tomorrow all", "ruda"],
  ["does anbody knwo why CI is red", "ruda"],
  ["The Garden of Eden theme is broken on mobile", "ruda"],
  ["ruda@example.com 으로 보내줘", "ruda"],
  ["메일은 eden@example.co.kr 입니다", "ruda"],
  ["문의: help@루다.kr 로 주세요", "ruda"],
  ["https://example.com/@eden/profile 이 링크 열려?", "ruda"],
  ["see https://git.example.com/@seum/repo/issues/3", "ruda"],
  ["npm i @eden/ui 하면 되나?", "ruda"],
  ["`@이든` 이라고 치면 불러지는 거지?", "ruda"],
  ["`@루다 @세움` 은 예시입니다", "ruda"],
  ["데코레이터는 이렇게:\n```ts\n@eden\nclass A {}\n```\n왜 안 되지?", "ruda"],
  ["```\n@세움 배포해\n@다짐 확인해\n```\n이 로그 뭐야?", "ruda"],
  ["> @이든 어제 뭐라고 했지?\n이게 무슨 뜻이야?", "ruda"],
  ["> @세움 배포 부탁해요\n\n이거 처리됐어?", "ruda"],
  [">>> @다짐 이거 언제까지야\n내일까지래", "ruda"],
  ["나 @루다봇이라는 계정 봤어", "ruda"],
  // One who is called by `@` and a name that is no agent's is a person: no agent answers for them.
  ["@이든든하게 먹고 오자", ""],
  ["@루다방 예약됐나요", ""],
  ["@세움빌딩 3층에서 봐", ""],
  ["@루다인 사람 손", ""],
  ["@세움터 공지 봤어?", ""],
  ["@edens-garden 계정은 우리 거 아니야", ""],
  ["@ruda-bot 은 옛날 봇이야", ""],
  ["@seum.dev 도메인 만료됐대", ""],
  ["@민준 이따 보자", ""],
  ["@서연님 회의실 잡으셨어요?", ""],
  ["@everyone 5시에 배포합니다", "ruda"],
  ["@here 지금 되는 사람?", "ruda"],
  ["@all 확인 바랍니다", "ruda"],
  ["@ 이든 이렇게 띄우면 안 되지?", "ruda"],
  ["가격은 @2,000원", "ruda"],
  ["10개@500원 = 5,000원 맞아?", "ruda"],
  ["ㅠㅠ 또 터졌어 500 에러", "ruda"],
  ["😭", "ruda"],
  ["루다야아아아아 도와줘어어", "ruda"],
  ["야 루다", "ruda"],
  ["다들 고생했어! 이든, 세움, 다짐 모두 👏", "ruda"],
  ["이든이 그러는데 세움이 루다보다 낫대 ㅋㅋ", "ruda"],
];

const CHANNEL_MENTIONS: readonly Line[] = [
  ["@루다 이것 확인해줘", "ruda"],
  ["@이든 로그인 코드 리뷰 부탁드려요", "eden"],
  ["@세움 배포해", "seum"],
  ["@다짐 내일 9시에 알려줘", "dajim"],
  ["@이든아 이거 봐줘", "eden"],
  ["@루다야 지금 뭐해?", "ruda"],
  ["@이든님, 검토 부탁드립니다.", "eden"],
  ["@세움씨 표 좀 다시 그려주세요", "seum"],
  ["@다짐님께서 확인해 주시면 감사하겠습니다", "dajim"],
  ["@이든이 아까 말한 거 다시 설명해줄래?", "eden"],
  ["@루다가 해줘", "ruda"],
  ["@세움한테 물어볼게. 서버 살아있어?", "seum"],
  ["@다짐은 오늘 뭐 했어?", "dajim"],
  ["@이든도 같이 봐", "eden"],
  ["@이든에게 부탁: 테스트 좀 돌려줘", "eden"],
  ["@세움이랑 얘기해 봐야겠다", "seum"],
  ["@루다ㅋㅋㅋ 이거 뭐야", "ruda"],
  ["@다짐ㅠㅠ 나 까먹었어", "dajim"],
  ["@이든!!! 급해요", "eden"],
  ["@세움? 살아있니", "seum"],
  ["(@이든) 이 부분 맞나요", "eden"],
  ["이거 @이든 담당 맞지?", "eden"],
  ["누가 봐도 @세움 잘못인데 ㅋㅋ", "seum"],
  ["리뷰는 역시 @이든👍", "eden"],
  ["고마워 @루다", "ruda"],
  ["고마워요 @이든님 덕분에 끝났어요 🎉", "eden"],
  ["@이든 미안, 아까 건 무시해줘", "eden"],
  ["@이든", "eden"],
  ["@세움 ㄱㄱ", "seum"],
  ["@다짐 👀", "dajim"],
  ["＠이든 전각 골뱅이로 쳤어요", "eden"],
  ["＠루다야 이것도 되나?", "ruda"],
  ["@eden can you take a look?", "eden"],
  ["@Eden PTAL", "eden"],
  ["@RUDA please", "ruda"],
  ["hey @seum, is prod ok?", "seum"],
  ["Thanks @dajim!", "dajim"],
  ["ping @eden @seum", "eden seum"],
  ["cc @dajim - just fyi", "dajim"],
  ["@eden's review is what I need here", "eden"],
  ["@이든 @세움 배포해도 될까?", "eden seum"],
  ["@세움 @이든 배포해도 될까?", "seum eden"],
  ["@루다 @이든 @세움 @다짐 다들 의견 주세요", "ruda eden seum dajim"],
  ["@다짐이랑 @루다 둘이 정해줘", "dajim ruda"],
  ["@이든하고 @세움한테 맡길게", "eden seum"],
  ["@이든@세움 붙여써도 되지?", "eden seum"],
  ["@이든 @이든 @이든 대답해!!", "eden"],
  ["@이든 이거 @민준 님이 올린 거야", "eden"],
  ["@everyone 말고 @세움만 보세요", "seum"],
  ["루다 말고 @이든 네가 해", "eden"],
  ["루다야 이건 @세움 일이야", "seum"],
  ["이든아 어제 고마웠어", "eden"],
  ["@이든 루다가 뭐래?", "eden"],
  ["@세움 이든이 만든 거 배포해줘", "seum"],
  ["@다짐 세움한테 9시라고 전해줘", "dajim"],
  ["@이든 `@세움` 이 코드에 왜 있어?", "eden"],
  ["> @세움 배포 부탁해요\n@이든 이거 처리됐어?", "eden"],
  ["@이든\n```js\nconst who = '@다짐';\n```\n여기 왜 undefined야?", "eden"],
  ["첫 줄\n둘째 줄\n@다짐 셋째 줄에서 부르기", "dajim"],
  ["- @이든: 리뷰\n- @세움: 배포\n- @다짐: 알림", "eden seum dajim"],
  ["1) @세움 2) @루다 순서로 답해줘", "seum ruda"],
  ["@이든, https://example.com/@seum 이 페이지 확인 좀", "eden"],
  ["**@이든** 굵게 불렀다", "eden"],
  ['"@세움" 따옴표로 불러도 되나', "seum"],
  ["@이든입니다 라고 자기소개 해봐", "eden"],
  ["그럼 @다짐부터 시작!", "dajim"],
  ["@세움까지만 보고 끝내자", "seum"],
  ["@이든이라도 봐줘 제발", "eden"],
  ["@루다만 알고 있어", "ruda"],
  ["@이든보다 @세움이 빠르겠다", "eden seum"],
  ["@루다야아아 도와줘", "ruda"],
  ["@이든아아아아 어디야", "eden"],
  ["@이든형 이거 한 번만 봐줘요", "eden"],
  ["@루다언니 고마워요", "ruda"],
  ["@세움군 배포했나?", "seum"],
  ["@루다양 회의록 올려주세요", "ruda"],
  ["@다짐샘 질문 있어요", "dajim"],
  ["@이든밖에 없다 진짜", "eden"],
  ["@세움대로 하자", "seum"],
  ["@이든이니까 믿고 맡긴다", "eden"],
  ["@루다니까 물어보는 거야", "ruda"],
  ["@이든인데 왜 답이 없지", "eden"],
  ["@루다라면 어떻게 할래?", "ruda"],
  ["@이든이라면 뭐라고 답할 거야?", "eden"],
  ["@세움네 서버 괜찮아?", "seum"],
  ["@다짐두 같이 가자", "dajim"],
  ["@이든꺼 맞지 이 코드?", "eden"],
  ["@루다인가 @이든인가 아무나", "ruda eden"],
  ["@이든아니면 @세움 아무나 봐줘요", "eden seum"],
  ["@다짐~ 자니?", "dajim"],
  ["@세움…? 거기 있어?", "seum"],
  ["@이든🙏제발", "eden"],
  ["@루다:확인", "ruda"],
  ["@이든쌤 질문이요!", "eden"],
  ["@세움 @루다 고마워", "seum ruda"],
  ["안녕 @다짐~~", "dajim"],
  ["@이든/@세움 둘 중 하나", "eden seum"],
  ["@이든,@세움,@다짐 회의 3시", "eden seum dajim"],
];

/** The picker of a platform writes a bot's role; elsewhere its name is written. */
const ROLE_MENTIONS: readonly Line[] = [
  ["<@&이든> 역할로 불렀어", "eden"],
  ["<@&세움> <@&다짐> 둘 다 확인", "seum dajim"],
  ["<@&루다> 안녕하세요", "ruda"],
  ["@이든 <@&이든> 두 번 불러도 한 번만", "eden"],
  ["<@&다짐>아 알람 맞춰줘", "dajim"],
  ["누구? <@&세움>?", "seum"],
];

const THREAD_OF_PEOPLE: readonly Line[] = [
  ["리뷰는 어디까지 됐어요?", "ruda eden"],
  ["고마워!", "ruda eden"],
  ["둘 다 고생했어 👏", "ruda eden"],
  ["ㅇㅋ 그렇게 하자", "ruda eden"],
  ["세움도 알아야 하지 않나?", "ruda eden"],
  ["다짐이 내일 알려준대", "ruda eden"],
  ["Sounds good, ship it.", "ruda eden"],
  ["@이든 이 부분만 더 봐줘", "eden"],
  ["@루다 이건 네가 정리해 줘", "ruda"],
  ["@이든아 고마워", "eden"],
  ["@루다 @이든 둘 다 의견 줘", "ruda eden"],
  ["@이든 @루다 반대 순서로", "eden ruda"],
  ["`@세움` 은 부르지 말자", "ruda eden"],
  ["> @세움 배포해줘\n이 인용은 무시해", "ruda eden"],
  ["@민준 이 사람이 올린 건데", ""],
  ["@everyone 보세요", "ruda eden"],
  ["@세움터 문서 참고", ""],
  ["<@&이든> 다시 한 번만", "eden"],
  ["🙂", "ruda eden"],
  ["아 그리고 오타 있어여 '됬다' → '됐다'", "ruda eden"],
];

/** Agents in their thread: the other one goes on, unless the words are for another. */
const THREAD_OF_AGENTS: readonly (readonly ["ruda" | "eden", string, string])[] = [
  ["eden", "확인했어요. 상수 시간 비교로 바꾸면 됩니다.", "ruda"],
  ["ruda", "그럼 테스트도 같이 부탁드려요.", "eden"],
  ["eden", "고마워 루다", "ruda"],
  ["ruda", "이든 님 고마워요!", "eden"],
  ["eden", "세움한테 배포를 부탁하면 좋겠어요.", "ruda"],
  ["ruda", "다짐이 내일 알려 준다고 했어요.", "eden"],
  ["eden", "@루다 이 부분은 확인이 필요해요.", "ruda"],
  ["ruda", "@이든 3번 줄만 다시 봐 주세요.", "eden"],
  ["eden", "`@세움` 이라는 토큰이 로그에 있어요.", "ruda"],
  ["ruda", "> @다짐 언제까지야?\n이 질문은 끝났어요.", "eden"],
  ["eden", "제가 @이든 이라고 서명한 코드예요.", "ruda"],
  ["ruda", "LGTM, merging now.", "eden"],
];

/** Agents in the channel: only who is named goes on. */
const CHANNEL_OF_AGENTS: readonly (readonly [Name, string, string])[] = [
  ["eden", "리뷰를 마쳤어요. 문제는 두 군데입니다.", ""],
  ["eden", "루다 님이 이미 확인하셨대요.", ""],
  ["seum", "이든이 고친 것을 배포했습니다.", ""],
  ["seum", "고마워 루다", ""],
  ["dajim", "세움 씨가 9시에 배포한다고 합니다.", ""],
  ["dajim", "올해의 다짐은 '무엇이든 기록하기'입니다.", ""],
  ["ruda", "오늘 일정은 회의 두 개예요.", ""],
  ["ruda", "이든에게 맡겼어요.", ""],
  ["ruda", "세움과 다짐 모두 확인했다고 해요.", ""],
  ["eden", "`@루다` 는 예시예요.", ""],
  ["eden", "> @세움 배포해도 돼요?\n이미 끝났어요.", ""],
  ["seum", "명령은 이렇습니다:\n```\n@이든 review\n```", ""],
  ["seum", "@세움 이 드리는 보고입니다.", ""],
  ["dajim", "메일은 ruda@example.com 으로 왔어요.", ""],
  ["eden", "@everyone 배포합니다", ""],
  ["eden", "@루다 이거 확인 부탁드려요", "ruda"],
  ["ruda", "@이든 리뷰 부탁드려요", "eden"],
  ["seum", "@이든 @다짐 배포가 끝났어요", "eden dajim"],
  ["dajim", "@세움님 9시예요", "seum"],
  ["ruda", "Over to @eden for the review.", "eden"],
  ["eden", "@ruda-bot 은 우리 봇이 아니에요", ""],
  ["dajim", "루다야 고마워, 이든도!", ""],
];

const DIRECT: readonly Line[] = [
  ["안녕 이든", "eden"],
  ["비밀인데 들어봐", "eden"],
  ["@이든 이거 둘만 아는 거야", "eden"],
  ["@루다한테는 말하지 마", "eden"],
  ["루다가 뭐라고 했어?", "eden"],
  ["@세움 @다짐 은 여기 없지?", "eden"],
  ["고마워 ㅎㅎ", "eden"],
  ["`@루다` 라고 쓰면 알림 가?", "eden"],
  ["@everyone 여기선 의미 없지", "eden"],
  ["Just between us: is 세움 down?", "eden"],
];

const FOREIGN_BOTS: readonly Line[] = [
  ["Build #812 passed ✅", ""],
  ["@루다 build failed", ""],
  ["@이든 @세움 PR #31 is waiting for review", ""],
  ["고마워 루다", ""],
];

const REPLIES: readonly (readonly [replyTo: Name | "person", text: string, answers: string])[] = [
  ["eden", "이거 맞아?", "eden"],
  ["seum", "ㄱㅅ", "seum"],
  ["dajim", "👍", "dajim"],
  ["eden", "@루다 이 말 맞아?", "ruda eden"],
  ["seum", "@이든 너도 같은 생각?", "eden seum"],
  ["eden", "@이든 한 번 더 설명해줘", "eden"],
  ["person", "나도 그렇게 생각해", "eden"],
  ["person", "@다짐 이거 기록해줘", "dajim"],
];

const FORWARDS: readonly (readonly [text: string, forwarded: string, answers: string])[] = [
  ["", "@이든 로그인 코드 리뷰 부탁해요", "ruda"],
  ["이거 봤어?", "@세움 배포 언제 해요", "ruda"],
  ["@다짐 이거 기록해줘", "@루다 내일 회의 3시", "dajim"],
  ["이든 말이 맞네", "고마워 @이든", "ruda"],
  ["@세움 위에 거 처리 가능?", "서버 죽음\n@이든 급함", "seum"],
];

const EDITS: readonly (readonly [text: string, editedTo: string, answers: string])[] = [
  ["오타 수정 전", "@이든 오타 수정 후", "ruda"],
  ["@이든 리뷰해줘", "@세움 리뷰해줘", "eden"],
  ["@세움 배포해 줘", "배포하지 마", "seum"],
  ["@루다 안녕", "@루다 안녕!!", "ruda"],
  ["내일 봐요", "내일 봐요 @다짐", "ruda"],
];

export const SAID: readonly Said[] = [
  ...CHANNEL_OF_ALL.map((line) => saidBy("channel", "person", line)),
  ...CHANNEL_MENTIONS.map((line) => saidBy("channel", "person", line)),
  ...ROLE_MENTIONS.map((line) => saidBy("channel", "person", line)),
  ...THREAD_OF_PEOPLE.map((line) => saidBy("thread", "person", line)),
  ...DIRECT.map((line) => saidBy("direct", "person", line)),
  ...FOREIGN_BOTS.map((line) => saidBy("channel", "foreign", line)),
  ...THREAD_OF_AGENTS.map(([by, ...line]) => saidBy("thread", by, line)),
  ...CHANNEL_OF_AGENTS.map(([by, ...line]) => saidBy("channel", by, line)),
  ...REPLIES.map(([replyTo, ...line]) => ({ ...saidBy("channel", "person", line), replyTo })),
  ...FORWARDS.map(([text, forwarded, answers]) => ({
    ...saidBy("channel", "person", [text, answers]),
    forwarded,
  })),
  ...EDITS.map(([text, editedTo, answers]) => ({
    ...saidBy("channel", "person", [text, answers]),
    editedTo,
  })),
];

function saidBy(where: Said["where"], by: Said["by"], [text, answers]: Line): Said {
  return { where, by, text, answers: answers.split(" ").filter(Boolean) as readonly Name[] };
}
