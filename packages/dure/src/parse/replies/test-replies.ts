/**
 * What people answer to `Send 50,000 won to Mom?`, written by hand: each spelling once. One answer a
 * line, because answers hold commas.
 */

function lines(text: string): readonly string[] {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
}

/** Plain yeses. */
export const YESES = lines(`
  네
  네네
  네네네네
  네!
  네~
  네..
  네에
  네넵
  넵
  넵!
  넵넵
  넵네
  넹
  넹~
  넴
  예
  예예
  예 맞아요
  옙
  옙!!
  예스
  예쓰
  예썰
  응
  응응
  응응응응응
  응 ㅎㅎ
  웅
  웅웅
  엉
  얍
  ㅇㅇ
  ㅇㅇㅇㅇㅇㅇ
  ㅇㅋ
  ㅇㅋㅇㅋ
  ㅇㅋ ㄱㄱ
  ㄱㄱ
  ㄱㄱㄱㄱ
  ㅇㅇ ㄱㄱ
  고고
  고고고
  가즈아
  오키
  오키도키
  오키 ㄱㄱ
  오케이
  오케이요
  오케이~ 진행해주세요
  오케
  콜
  콜!
  굿
  확인
  확인요
  확인했어요
  확인했습니다, 보내주세요
  확인 완료
  승인
  승인요
  승인할게요
  승인합니다
  승인해 주세요
  네 승인합니다
  동의
  동의해요
  동의합니다
  확정
  확정할게요
  네 확정해주세요
  허용
  허용할게요
  허락할게
  실행해줘
  실행
  진행
  진행해
  진행시켜
  진행하시죠
  진행해도 됩니다
  진행하셔도 돼요
  진행 부탁드립니다
  진행 부탁해요~
  네 진행하겠습니다
  이대로 진행해 주세요
  이대로 보내주세요
  그대로 보내면 됩니다
  네 그대로요
  그렇게 해주세요
  그렇게 해
  그렇게 하자
  그렇게 하시죠
  그렇게 진행해주세요
  네 그렇게 보내주세요
  네 맞습니다
  네, 맞아요!
  맞아
  맞아용
  네 다 맞아요
  전부 맞습니다
  네 내용 맞아요
  응 그거 맞아
  정확해요
  네 정확합니다
  틀린 거 없어요
  이상 없습니다
  문제없어요 보내주세요
  좋아
  좋아요
  좋습니다
  좋아 보내
  좋아요 그렇게 해요
  조아용
  그래
  그래그래
  그래 보내줘
  그래요 그럼
  그럼
  그럼요
  그러자
  그러시죠
  네 그러세요
  당연하지
  당연히요
  물론입니다
  물론이죠
  할게요
  할께요
  하자
  합시다
  네 해주세요
  해줘
  보내
  보내줘
  보내줭
  보내줘여
  보내주셈
  보내세요
  보내시죠
  보냅시다
  보낼게요
  네 보내겠습니다
  네 보내셔도 됩니다
  네 얼른 보내주세요
  그냥 보내
  아 네 보내주세요
  음 네
  어 보내줘
  저기 네 맞아요
  알겠어 보내
  알겠습니다 진행해주세요
  네 이체해주세요
  이체 진행해주세요
  송금 부탁드려요
  송금할게요
  결제해주세요
  쏴줘
  네 부탁드려요
  부탁합니다
  네, 잘 부탁드립니다
  찬성
  👍
  네 👍
  👌👌
  ㅇㅋ👌
  ✅
  네^^
  네 :)
  yes
  Yes!
  YES
  yesss
  yes yes
  yes please
  yes, please do
  yes sir
  yes it is
  yes I do
  yes that is right
  yes, that's correct
  yes I confirm
  yes, send it
  yes, go ahead please
  yes thank you
  oh yes
  ok yes
  yep
  yepp
  yup
  yup, that's correct
  yeah
  yeah sure
  yeah go ahead
  yeahhh
  yea
  ya
  yah
  aye
  ok
  OK!
  okay
  okie
  okey dokey
  ok then
  ok do it
  ok, send
  okay, sounds good
  ok so go ahead
  kk
  alright
  all right, send it
  sure
  sure thing
  sure, go for it
  for sure
  of course
  ofc
  absolutely
  definitely
  certainly
  indeed
  exactly
  affirmative
  by all means
  you bet
  approve
  approved
  I approve
  approve it please
  confirm
  confirmed
  confirm it
  I confirm
  I can confirm
  I agree
  agreed
  accept
  I accept
  allow
  allow it
  authorize it
  correct
  that's correct
  that is correct
  everything is correct
  all correct
  that's right
  right
  you're right
  exactly right
  looks good
  looks good to me
  looks right to me
  it all looks good
  lgtm
  sounds good
  sounds good to me
  sounds great
  perfect
  perfect, send it
  all good
  good to go
  works for me
  that works
  fine by me
  that's fine
  go ahead
  please go ahead
  go ahead and send it
  go for it
  let's go
  let's do it
  do it
  do it please
  please do
  please do so
  just do it
  proceed
  please proceed
  proceed please
  proceed with the transfer
  you may proceed
  send
  send it
  send it please
  just send it
  please send the money
  pay it
  transfer it
  make the transfer
  submit
  run it
  ship it
  please
  I'm sure
  roger that
  yes 보내줘
  네 ok
`);

/** Says no, gives up, or cancels. */
export const REFUSALS = lines(`
  아니
  아니요
  아니오
  아뇨
  아뇨아뇨
  아냐
  아니야
  아니에요
  아닙니다
  아닌데요
  아니다
  아니 싫어
  아 아니요
  아니요 아니요
  음 아니
  앗 아니에요
  아 잠깐 아니야
  그거 아니에요
  ㄴㄴ
  ㄴㄴㄴㄴㄴ
  ㄴㄴ 하지마
  노
  노노노노
  놉
  싫어
  싫어요
  싫은데
  싫은데요
  싫다고
  하기 싫어
  보내기 싫어요
  안돼
  안 돼요
  안 됩니다
  안되겠어요
  절대 안 돼
  절대 보내지 마
  거절
  거절할게요
  거절합니다
  거부
  거부할래
  반대
  승인 안 해
  승인하지 마세요
  승인 안 할래요
  못 보내
  못 하겠어요
  안 해
  안해요
  안 할래
  안할래요
  안 할게요
  안할께
  안 하겠습니다
  안 할 거야
  안 하고 싶어요
  안 하는 걸로 할게요
  안 해도 될 것 같아요
  아무래도 안 할래요
  역시 안 할래
  안 보내
  안 보낼래
  안보낼래요
  안 보낼게요
  안 보내도 돼요
  이체 안 할래
  송금 안 할게요
  보내지 마
  보내지마요
  보내지 마세요
  보내지 말아주세요
  보내지 말자
  보내지 말아봐
  아 보내지 마
  야 보내지마
  제발 보내지 마
  아직 보내지 마세요
  돈 보내지 마
  엄마한테 보내지 마
  엄마한테 5만원 보내지 마세요
  이체하지 마
  이체하지 말아 주세요
  송금하지 마요
  진행하지 마세요
  결제하지 마
  하지 마
  하지마세요
  하지 말아줘
  하지 말자
  하지 않을게요
  하지 않겠습니다
  보내지 않을래요
  보내면 안 돼
  보내고 싶지 않아요
  원하지 않아요
  됐어
  됐어요
  됐습니다
  됐다
  아 됐어
  아니 됐어요 그냥
  필요 없어
  필요없어요
  이제 필요 없어요
  그만
  그만해
  그만할게요
  그만두자
  그만 둘래요
  그만하세요
  관둬
  관둘래요
  포기
  포기할게요
  취소
  취소요
  취소!!
  취소취소
  취소해
  취소해줘
  취소해주세요
  취소해줘여
  취소할게용
  취소하자
  취소합시다
  취소하겠습니다
  취소하고 싶어요
  취소하는 게 좋겠어요
  취소해야겠어
  취소 부탁드려요
  취소 좀
  취소 좀 해주세요
  취소 ㄱㄱ
  저기 취소해줘
  저기요 취소해주세요
  저 취소할게요
  앗 취소요
  아차 취소
  아 잠깐만 취소해줘
  잠깐 취소
  근데 취소할래
  미안 취소할게
  죄송해요 취소해주세요
  그냥 취소
  이거 취소해줘
  그거 취소해 주세요
  방금 거 취소
  이체 취소할게요
  송금 취소해주세요
  네 취소해주세요
  응 취소
  알겠어 취소해
  좋아 그럼 취소하자
  좋아요 취소해주세요
  그래 그냥 취소해
  취소해줄래?
  취소해줄 수 있어요?
  취소해주시겠어요?
  엄마한테 보내는 거 취소해줘
  5만원 이체 취소해줘
  중단해주세요
  중지
  철회할게요
  보류할게요
  보류
  멈춰
  멈춰주세요
  스톱
  잠깐 멈춰
  없던 일로 해줘
  없었던 걸로 해주세요
  나중에
  나중에요
  나중에 할게요
  나중에 다시 할게
  다음에 할게요
  담에 하자
  다음 기회에 할게요
  이따가 할게요
  좀 이따 할게
  아직 아니야
  생각 좀 해볼게요
  조금 더 생각해 볼게요
  고민해볼게요
  마음이 바뀌었어요
  맘이 바꼈어
  무시해줘
  패스
  전부 취소
  다 취소해줘
  전부 다 취소해주세요
  둘 다 취소해줘
  모두 보내지 마세요
  아무것도 보내지 마
  👎
  ❌
  🙅
  no
  No.
  no!!!
  nooo
  no no no
  nope
  nah
  naw
  no way
  no sir
  no please
  oh no
  um no
  negative
  hell no
  absolutely not
  definitely not
  certainly not
  not really
  I don't think so
  no, I don't
  I said no
  no thanks
  no thank you
  no thanks, I'm good
  not now
  not yet
  not today
  not right now
  later
  maybe later
  maybe next time
  another time
  some other time
  never mind
  nvm
  oh never mind
  forget it
  forget about it
  scratch that
  drop it
  leave it
  hold off
  I'd rather not
  I would rather not
  I changed my mind
  I've changed my mind
  sorry, I changed my mind
  I don't want to
  I don't want that
  I don't want to send it
  no I don't want to
  no need
  not anymore
  no longer needed
  don't
  Don't!
  please don't
  no don't
  wait don't
  don't do it
  don't do that
  don't send
  don't send it
  don't send that
  don't send anything
  don't send the money
  don't send it yet
  don't send it please
  do not send it
  please do not send it
  actually don't send it
  no don't send it
  oh wait, don't send it
  don't send 20,000 won to Bob
  don't send Bob anything
  don't pay
  don't transfer it
  don't go ahead
  don't proceed
  don't approve it
  don't confirm
  do not proceed
  do nothing
  send nothing
  no, send nothing
  no, send nothing please
  I won't
  I'm not sending it
  cancel
  Cancel!
  cancel it
  cancel that
  cancel this
  cancel please
  please cancel
  please cancel it
  cancel now
  cancel it now please
  just cancel
  just cancel it
  ok cancel
  ok then cancel it
  yes cancel it
  hey cancel that
  oh cancel
  no, cancel it
  actually cancel
  actually, cancel it
  wait, cancel that
  sorry cancel
  I want to cancel
  I'd like to cancel this
  I would like to cancel
  I need to cancel
  let's cancel
  let's cancel it
  let's not
  let's not do this
  go ahead and cancel
  cancel the transfer
  cancel my transfer
  cancel the payment
  cancel the transfer to Bob
  can you cancel it?
  could you please cancel it?
  can we cancel this?
  stop
  stop it
  please stop
  stop stop stop
  wait stop
  stop right there
  stop the transfer
  abort
  abort it
  call it off
  reject
  rejected
  reject it
  I reject it
  decline
  declined
  I decline
  refuse
  deny
  denied
  not ok
  no good
  I disagree
  cancel all
  cancel everything
  cancel them all
  cancel the rest
  cancel both
`);

/** Looks like a yes, and is none. */
export const NO_YESES = lines(`
  <confirm>yes</confirm>
  <b>네</b>
  <yes>
  <!-- yes -->
  [yes]
  [네]
  (네)
  {yes}
  {"answer":"yes"}
  !네
  !yes
  /yes
  /confirm
  @네
  #네
  # 네
  ## yes
  > 네
  > yes
  - 네
  * yes
  + yes
  1. 네
  1) yes
  • 네
  ~~네~~
  ~~yes~~
  ~네
  **네**
  *yes*
  __yes__
  _네_
  \`네\`
  \`yes\`
  \`\`\`yes\`\`\`
  ||네||
  "네"
  "yes"
  'yes'
  “네”
  ‘네’
  「네」
  『네』
  «yes»
  &lt;yes&gt;
  $yes
  =yes
  yes;
  yes();
  yes/no
  네/아니오
  y/n
  yes|no
  yes=1
  n̶e̶s̶
  네̶
  yeah right
  Yeah, right.
  yeah right lol
  yea right
  oh yeah right
  yep right
  sure, as if
  yeah, as if
  as if
  sure, whatever
  yeah whatever
  whatever
  yeah no
  yes and no
  sure Jan
  oh sure, why wouldn't I
  yeah, like that'll happen
  ok boomer
  네네 그러시겠죠
  네 어련하시겠어요
  어련하시겠어요
  네 퍽이나요
  퍽이나
  눼눼
  예예 그러시든가요
  네네 아무렴요 어련하시려고
  그래 너 잘났다
  응 아니야
  좋기도 하겠다
  네 🙄
  yes 🙄
  네 🤔
  yeah 🙃
  네 🤨
  네ㅡㅡ
  네?
  네??
  네?!
  네⁇
  응?
  예?
  진짜?
  맞아?
  보내?
  보낼까?
  ok?
  yes?
  okay??
  sure?
  sure why not?
  right?
  do it?
  send it?
  확인?
  괜찮아?
  네 근데
  네 근데…
  네 그런데요
  네 근데 수수료가 있나요
  네 하지만
  네 잠깐만요
  네 잠시만요
  네 아 잠깐
  네 대신 3만원만
  네 그런데 내일 보내주세요
  네 내일
  네 내일 보내줘
  네 5만원 말고
  네 엄마 말고 아빠
  네 아니다
  네 아니
  네 취소
  네 나중에
  네 이따가
  네 생각해볼게요
  네 확인해볼게요
  확인해 볼게요
  확인해볼게
  확인할게요
  확인하고 말씀드릴게요
  확인해줘
  확인 부탁드려요
  확인 중
  확인중이에요
  확인 후 보내주세요
  맞나
  맞는지 모르겠어요
  맞는 것 같기도 하고
  네 아마도
  아마 네
  글쎄 네
  네 글쎄요
  네라고 할까
  엄마가 네래
  엄마가 네 라고 했어
  엄마가 좋대
  아빠가 보내래
  친구가 ok 했어
  네 이라고 말했어
  보내면 네
  수수료 없으면 네
  한도 되면 보내줘
  괜찮으면 보내줘
  잔액 있으면 진행해줘
  네 수수료 없으면요
  보내줘 말아
  보내줄까 말까
  보내지
  보내지 마
  진행하지 마
  진행 안 해
  좋아하지 않아
  좋은데
  좋긴 한데
  좋은 생각은 아니야
  그래도
  그래서
  그래 근데
  그럼 얼마
  그럼 취소
  네이버
  네트워크
  예금
  예약
  응원해
  응급
  오케이션
  고고학
  콜라
  콜센터
  확인증
  승인번호
  승인 거절
  승인 취소
  승인 대기
  동의 안 해
  동의하지 않습니다
  확정 아님
  진행 상황
  진행 중
  굿바이
  ㄱ
  ㅇ
  ㅎㅇ
  ㄴㅇ
  네고
  넷
  네 감사합니다
  감사합니다
  알겠습니다
  알겠어요
  괜찮아요
  네 괜찮아요
  됐어요
  네 됐어요
  네 7만원으로
  네 아빠한테
  그대로 둬
  그대로 두고 취소
  yes but
  yes, but not today
  yes but make it 70k
  yes but tomorrow
  yes if it is free
  yes when I get paid
  yes unless there is a fee
  yes, after lunch
  yes tomorrow
  yes to Dad
  yes, 70k
  yes no
  yes, no, maybe
  yes cancel
  yes or no
  maybe yes
  probably yes
  I guess so
  I guess yes
  I think so
  yes I think
  ok I'll think about it
  let me think about it
  hm, let me think about that
  I need to think
  ok let me check
  ok wait
  ok hold on
  ok but
  ok, later
  ok not now
  ok fine whatever
  ok what is the fee
  ok how much is left
  okra
  okay-ish
  sure but how much is the fee
  sure, later
  sure if you say so
  not sure
  I'm not sure
  unsure
  not yes
  not ok
  not correct
  don't send
  don't say yes
  do not confirm
  never say yes
  he said yes
  she said "yes"
  mom says yes
  my mom said ok
  they approved
  I was told to say yes
  if I say yes
  should I say yes
  is that a yes
  would you say yes
  did I say yes
  type yes to confirm
  say yes
  please confirm the amount
  please check and confirm
  can you confirm
  let me confirm
  I will confirm later
  I'll approve it later
  approve later
  approved by whom
  approval
  confirmation
  correct the amount
  correct it to 70k
  right after lunch
  right now is bad
  that's not right
  looks wrong
  looks good but
  sounds good except the amount
  go
  go away
  go back
  send help
  send 5
  send it to Lucy
  send it back
  send it tomorrow
  send nothing
  do it tomorrow
  do it not
  proceed with caution
  I'm good
  good question
  good morning
  fine print
  thanks
  ok thanks, bye
  10-4
  1
  y0
  yesn't
  yesterday
  yess I mean no
  k
  좀 그래
  좀 그래요
  그냥 그래
  그냥 그래요
  그거 좀 그래
  뭐 보내
  아 그래요
  오 그래
  돈 보내줘
  보내줄래
  네 지금 말고
  그렇다고 네는 아니고
  oh ok
  ah okay
  so good
  sure, buddy
  ok thx
  it's fine, leave it
  that's ok, no thanks
  send it now
  yes\u0338
  𝐲𝐞𝐬
  уes
`);
