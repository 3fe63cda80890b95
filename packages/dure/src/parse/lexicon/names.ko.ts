/** Korean words around a person's name: who people are, how they are addressed, and what no name is. */

function words(text: string): string[] {
  return text.split(" ");
}

/** Relatives who can be called by this word alone. */
export const FAMILY = words(
  "엄마 아빠 어머니 아버지 엄빠 부모님 할머니 할아버지 외할머니 외할아버지 형 누나 오빠 언니 동생 " +
    "남동생 여동생 이모 이모부 삼촌 외삼촌 고모 고모부 숙모 조카 사촌 장모님 장인어른 시어머니 " +
    "시아버지 형수 처제 며느리 사위 손자 손녀 여보",
);

/** Relatives of another person as often as of the speaker: 동생 아내, 이모 아들. */
export const PARTNERS = words("아내 남편 와이프 신랑 아들 딸 남친 여친 남자친구 여자친구");

/** People known by what they are to the speaker. */
export const ACQUAINTANCES = words(
  "친구 선배 후배 아저씨 아줌마 이웃 동료 동기 룸메 룸메이트 집주인 집주인분 총무 사촌형 사촌누나 " +
    "사촌동생 어머님 아버님 형님 누님 할머님 할아버님 아부지 어무이 막내 큰형 큰누나 큰언니 큰오빠 " +
    "큰아들 작은아들 큰딸 작은딸 큰아빠 큰엄마 작은아빠 작은엄마 큰아버지 큰어머니 작은아버지 작은어머니 " +
    "큰이모 작은이모 큰삼촌 작은삼촌",
);

/** Titles belong to the name before them: 김 대리, 박 과장님. */
export const TITLES = words(
  "인턴 사원 주임 대리 과장 차장 부장 팀장 실장 국장 본부장 센터장 지점장 점장 반장 조장 회장 부회장 " +
    "이사 상무 전무 사장 부사장 대표 대표이사 원장 부원장 선생 교수 조교 강사 코치 감독 기사 박사 변호사 " +
    "의사 간호사 약사 세무사 회계사 목사 신부 스님 수녀 집사 권사 장로 기자 작가 피디 매니저 디자이너 " +
    "개발자 팀원 위원 위원장 총장 학장 교장 교감 소장 대장 중령 대령 병장 상병 일병 이병 쌤 샘 씨 군 양",
);

/** Words that lose their sense without 님, beside the titles. */
export const HONORED = words("부모 장모 고객 사모 스 누 형 아저 어머 아버 할머 할아버 쌤");

/** Words that stand before what a person is called, as a part of it: 큰 이모, 옆집 아저씨. */
export const EPITHETS = words("큰 작은 막내 첫째 둘째 셋째 옆집 윗집 아랫집 앞집 친한 외 친 새");

export const SURNAMES =
  "김이박최정강조윤장임한오서신권황안송류홍전고문양손배백허유남심노하곽성차주우구" +
  "민진지엄채원천방공현함변염여추도소석선설마길연위표명기반왕금옥육인맹제모탁국은편용";

/** Given names that end like a word with a particle: 정은, 병만. With a surname they stay whole. */
export const GIVEN_NAMES_LIKE_PARTICLES = words(
  "정은 성은 영은 경은 명은 동은 상은 종은 승은 향은 형은 선은 진은 빛은 준은 영만 종만 재만 성만 용만 " +
    "동만 기만 정만 수만 태만 병만 상만 철만 광만 홍만 상도 경도 하랑 아랑 예랑 미랑 사랑 호랑 이랑 해랑",
);

/** Names of one syllable, behind which a particle may stand: 존은. */
export const SHORT_NAMES = words("존 톰 잭 샘 벤 짐 폴 켄 댄 닉 준 훈 율 빈 찬 솔");

/** Syllables with which given names of two syllables begin and end. */
export const GIVEN_NAME_STARTS =
  "가강건경광교규근기나남다대도동두라란래류리마만명문미민범병보복봄상서석선설성세소솔송수순슬승시신" +
  "아양연영예오옥완용우원유윤은을의이인일자재정제조종주준지진차찬창채철초춘충치태평하학한해향혁현형혜" +
  "호홍화환효훈휘희";
export const GIVEN_NAME_ENDS =
  "건겸경곤관광구국권규균근기나남늘담도동라란람랑래령로록룡름린림만명모목무문미민배범별보복봄빈빛상서" +
  "석선설섭성세솔수숙순슬승식신실심아안애연엽영예옥온완용우욱운웅원월유윤율은을의이익인일임자재정종주준" +
  "중지진찬창채천철춘택표하학한해향헌혁현형혜호홍화환후훈휘희";

/** Words that no name is, whatever stands beside them. A name may stand on their other side. */
export const SMALL_WORDS: ReadonlySet<string> = new Set([
  // what is said before the matter
  ...words(
    "아 음 어 오 앗 앗차 아차 아참 참 헐 와 우와 에 엥 흠 흐음 저기 저기요 그게 그거 이거 저거 그 이 저 요 " +
      "자 뭐 뭐야 왜 네 넵 넹 예 옙 응 웅 엉 어어 그래 그래요 좋아 좋아요 아니 아니요 아뇨 아냐 아니야 아니다 " +
      "미안 미안해 미안한데 미안해요 죄송 죄송해요 죄송한데 죄송하지만 죄송합니다 잠깐 잠깐만 잠시 잠시만 " +
      "잠깐만요 잠시만요 있잖아 있지 근데 근데요 그런데 그런데요 그럼 그러면 그러니까 그니까 그래서 그리고 " +
      "그치만 하지만 그렇지만 또 또한 혹은 또는 아니면 게다가 안녕 안녕하세요 하이 고마워 고마워요 감사 " +
      "감사해요 감사합니다 부탁 부탁해 부탁해요 부탁드려요 부탁드립니다 제발 혹시 혹시나 여튼 아무튼 암튼 " +
      "어쨌든 맞다 맞아 맞아요 확인 오케이 오키 ㅇㅋ ㄱㄱ ㅇㅇ ㄴㄴ 에휴 아이고 아이구 글쎄 글쎄요 " +
      "여기 거기 여기요 얘들아",
  ),
  // how, when and how often
  ...words(
    "그냥 다시 대략 약간 대충 정확히 우선 일단 먼저 전부 모두 다 다들 모두들 추가 추가로 한번에 급하게 급히 급 " +
      "빨리 얼른 어서 당장 곧장 즉시 바로 지금 지금은 금방 곧 방금 아까 이제 이젠 이번 이번에 이번에는 이번엔 " +
      "이번에도 이번은 이번만 이번달 이번주 지난달 지난주 다음달 다음주 다음 다음에 다음에는 다음엔 다음은 그다음 그다음에 그담에 담에 담엔 나중 나중에 " +
      "이따 이따가 오늘 오늘은 내일 내일은 어제 모레 그저께 저번 저번에 지난번 지난번에 아침에 점심에 저녁에 " +
      "밤에 새벽에 오전 오후 한번 한번만 이번만 꼭 몰래 마지막 마지막으로 이어서 계속 진행 이왕이면 기왕이면 이왕 " +
      "기왕 같이 함께 따로 많이 조금 조금만 좀 더 덜 딱 쫌 걍 막 잘 못 안 최대 최소 최대한 적어도 겨우 고작 " +
      "무려 총 합계 도합 합쳐서 합해서 드디어 갑자기 일찍 늦게 아마 아마도 사실 사실은 솔직히 역시 결국 특별히 " +
      "오랜만에 간만에 매번 자꾸 항상 늘 보통 원래 아예 차라리 설마 별로 진짜 정말 너무 완전 되게 아주 매우 " +
      "무조건 반드시 절대 제대로 천천히 간단히 자동으로 온라인으로 대신에 각 매 전 한 몇 여러 동시에 처음 처음으로",
  ),
  // money and the ways that it goes
  ...words(
    "금액 금액은 총액 전액 잔액 한도 수수료 이자 원금 가격 비용 돈 돈을 돈은 돈도 현금 계좌 계좌번호 통장 " +
      "카드 은행 이체 송금 입금 출금 결제 지불 충전 환불 계좌이체 실시간이체 즉시이체 자동이체 예약이체 메모 " +
      "별칭 날짜 정도 기준 이상 이하 미만 초과 이내 원 만원 씩 씩만 씩이요 만큼 나머지 나머지는 절반 반 반반 두배 " +
      "세배 배 두 세 같은 똑같은 동일 거 것 꺼 몫 앞 이정도 그정도 요정도 인당 사람당 명당 한명당 없이 수신자 수취인 예금주 받는사람 받는분 대상 이름 금액으로 상당 전송 변경 수정 완료 취소 얼마 얼마나 얼마를 사람 명 개 " +
      "말한 얘기한 부탁한 약속한 사는 있는 다니는 일하는 아는 보낸 저장된 등록된 등록한 " +
      "첫번째 두번째 세번째 번째 뒤에 앞에 첫 하다가 하자 해서 더하기 빼기 나누기 곱하기 두분 두분다 가능 가능하면 되면 필요 필요한 급함 급해 급해요 천원 백원",
  ),
  // who is not named
  ...words(
    "누구 누가 누군가 아무나 아무 나 난 나는 내 내가 저는 전 제 제가 저희 우리 우린 우리는 너 넌 네가 니가 당신 " +
      "걔 얘 쟤 그분 이분 저분 그녀 그들 모두에게 서로 둘 둘다 셋 넷 각각 각자 다른 남 본인 자신 받는",
  ),
]);

/** Someone whom a pronoun or a question word stands for; also with a particle: 누구한테, 둘한테. */
export const PRONOUNS = words(
  "누구 아무 아무나 나 저 내 제 너 우리 저희 걔 얘 쟤 그 그분 이분 저분 그녀 거기 여기 저기 이거 그거 이것 그것 " +
    "어디 모두 다들 둘 셋 넷 각자 각각 전부 서로 남 다른사람 둘다 세명 두명 네명 여러명",
);

/** What money is for. Behind a name it belongs to the amount: 엄마 용돈 20만원. */
export const PURPOSES = words(
  "용돈 월세 전세 축의금 조의금 부의금 부조금 부조 세뱃돈 곗돈 보증금 계약금 잔금 등록금 학비 적금 보험료 " +
    "수업료 수강료 이용료 사용료 대여료 진료비 병원비 회비 생활비 식비 교통비 택시비 버스비 차비 주차비 톨비 " +
    "기름값 수리비 관리비 가스비 수도세 전기세 통신비 휴대폰비 핸드폰비 학원비 과외비 교재비 간식비 회식비 " +
    "모임비 여행비 숙박비 숙소비 식사비 경비 택배비 배송비 입장료 참가비 수고비 사례금 후원금 기부금 상금 벌금 " +
    "헌금 공과금 세금 대출금 알바비 인건비 월급 급여 주급 일당 보너스 장학금 정산 더치페이 선물 선물값 " +
    "생일선물 결혼선물 졸업선물 입학선물 생일 결혼 결혼식 돌잔치 졸업 입학 생신 제사 백일 첫돌 장례식 병문안 출산 개업 승진 환갑 칠순 명절 점심 저녁 아침 밥 " +
    "술 커피 간식 치킨 피자 케이크 꽃다발 회식 모임 여행 택시 숙소 티켓 영화 빵 음료 과자 책 화장품",
);

/** The end of any word for what money is for: 저녁값, 동아리회비. */
export const PURPOSE_ENDS =
  "값|회비|용돈|축의금|조의금|부의금|생활비|학원비|관리비|교통비|여행비|선물비";

/** Endings of speech, which no name has. */
export const SPEECH_ENDS =
  "줘|줘요|주라|줘라|세요|니다|습니까|어요|아요|해요|돼요|네요|죠|까|려고|싶어|할게|할래|했어|됐어|있어|없어|" +
  "몰라|프다|하다|한다|했다|싶다|좋다|싫다|었다|았다|는데|은데|한데|어떡하지|던데|거든|잖아|구나|이체|송금|보내|" +
  "다고|라고|라서|[가-힣]{2}이라|길래|니까|니깐|지만|므로|면서|자마자|느라|했는데|했고|할까|처럼|대로|마다|보다|에서|하게|히|려면|으면|하면";

/** Endings that a word in a sentence has, and only rarely a name that stands alone in it. */
export const SPOKEN_ENDS = "[해요네면워줘데래게까죠]";

/** Endings of verbs, which a name has only if it looks like a given one; 디에고 and 산티아고 are names. */
export const VERB_ENDS = "[가-힣](?:[게데줘까죠면]|(?<![에아휴하])고)";
