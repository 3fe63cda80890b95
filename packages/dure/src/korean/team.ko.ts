import type { SentenceForm } from "../kernel/sentence-forms.ts";

/**
 * Refusals of the server, of rooms, turns and jobs. Each says what to do too, where no form
 * of the hint does.
 */
export const TEAM_SENTENCES_KO: readonly SentenceForm[] = [
  // --- what to do
  ["Use a token with the scope {0}.", "서버 관리자에게 그 권한을 요청해 주세요."],
  ['Set {0}, or use the model "offline".', "`.env`에 {0}을(를) 적고 서버를 다시 시작해 주세요."],
  [
    'Add "{0}" to the team\'s list of who may ask whom.',
    "팀 설정의 `allow`에 `{0}`을(를) 더하면 맡길 수 있어요.",
  ],
  ["Agents are {0}.", "있는 에이전트: {0}"],
  ["Its kind is one of {0}; each has members of its own.", "쓸 수 있는 종류: {0}"],

  [
    "It did what it was asked; ask again for more.",
    "맡은 일을 마쳤으니, 더 필요하면 새로 맡겨 주세요.",
  ],
  [
    "It goes on by itself; cancel it first.",
    "저절로 이어지니, 다시 시작하려면 먼저 취소해 주세요.",
  ],

  // --- what may be sent, and by whom
  [
    "The background has {0} bytes; {1} are allowed.",
    "배경 글이 {0}바이트예요. {1}바이트까지 보낼 수 있어요.",
  ],
  [
    "What is said must have 1 to {0} characters; this has {1}.",
    "말은 1자에서 {0}자까지 할 수 있는데, 이 말은 {1}자예요.",
  ],
  [
    "The payload has {0} bytes as text; {1} are allowed.",
    "내용이 {0}바이트예요. {1}바이트까지 보낼 수 있어요. 중요한 것만 보내 주세요.",
  ],
  ["The payload does not fit: {0}.", "정해진 꼴에 맞지 않는 내용이에요: {0}"],
  [
    '"{0}" cannot be a session id.',
    "`{0}`은(는) 대화의 이름으로 쓸 수 없어요. 영문자, 숫자, `. _ : @ -`만 200자까지 쓸 수 있어요.",
  ],
  ["{0} cannot be stored: {1}.", "{0}을(를) 저장할 수 없어요: {1}"],
  ["waitSec is {0}.", "waitSec이 {0}이에요."],
  ["Wait 0 to {0} seconds; 0 returns at once.", "0초에서 {0}초까지 기다릴 수 있어요."],
  ["maxTurns is {0}.", "maxTurns가 {0}이에요."],
  ["A whole number from 0 to {0}.", "0부터 {0}까지의 정수로 적어 주세요."],
  ["At most {0} characters of plain text.", "{0}자까지 쓸 수 있어요."],
  [
    "The session {0} belongs to {1}: it needs the scope {2} besides chat.",
    "대화 {0}은(는) {1}의 것이라, chat 말고 `{2}` 권한도 필요해요.",
  ],
  [
    "Sessions that begin with {0} are dure's own; {1} belongs to {2}.",
    "`{0}`(으)로 시작하는 대화는 dure의 것이에요. {1}은(는) {2}의 대화라 여기에 쓸 수 없어요.",
  ],
  [
    "{0} is for people to allow any further.",
    "{0}을(를) 더 넓게 승인하는 일은 사람만 할 수 있어요. 이번 한 번만 승인하거나, 사람에게 맡겨 주세요.",
  ],
  [
    "The model ai-sdk:{0} is known by its name alone.",
    "`ai-sdk:{0}` 모델은 이름만으로는 쓸 수 없어요. 코드에서 모델 객체를 넣어 주세요.",
  ],
  [
    "The auth of openapiTools has no value: {0}.",
    "`openapiTools`의 인증 값이 비어 있어요: {0}. 값을 읽어 올 환경 변수를 정해 주세요.",
  ],
  [
    "No result of this conversation has the handle {0}, or it is kept no longer. Call the tool again that gave it.",
    "이 대화에는 {0} 결과가 없거나, 보관 기간이 지났어요. 그 결과를 준 도구를 다시 불러 주세요.",
  ],
  [
    "{0} is not yours to decide here.",
    "{0}은(는) 여기서 결정할 수 없어요. dure가 물어본 것이 아니거나, 이미 사람에게 넘어갔거나, 다른 사람이 이 대화에서 말했어요.",
  ],
  [
    "{0} may not answer {1}.",
    "{0} 님은 {1}에 답할 수 없어요. 관리자가 `rooms.approvers`에 더하면 돼요.",
  ],
  [
    "{0} may not lift {1}.",
    "{0} 님은 {1}을(를) 풀 수 없어요. 그 방에 쓸 수 있는 사람만 풀 수 있어요.",
  ],
  [
    '"{0}" is no answer to {1}.',
    "`{0}`은(는) {1}에 고를 수 있는 답이 아니에요. 보이는 답 가운데에서 골라 주세요.",
  ],
  [
    "The note for {0} has {1} characters; {2} are allowed.",
    "함께 적은 말이 {1}자예요. {2}자까지 적을 수 있어요.",
  ],
  [
    "The arguments for {0} have {1} bytes; {2} are allowed.",
    "바꾼 인자가 {1}바이트예요. {2}바이트까지 보낼 수 있어요.",
  ],
  [
    "Other arguments do not go with this answer to {0}.",
    "이 답에는 바꾼 인자를 함께 보낼 수 없어요. 인자 없이 다시 보내 주세요.",
  ],
  [
    "The arguments for {0} cannot be changed here.",
    "여기서는 이 호출의 인자를 바꿀 수 없어요. 그대로 승인하거나, 이유를 적어 거절해 주세요.",
  ],
  [
    "The arguments for {0} do not fit {1}: {2}.",
    "바꾼 인자가 `{1}` 도구에 맞지 않아요. 바뀐 것은 없으니 고쳐서 다시 보내 주세요: {2}",
  ],
  [
    "Only the role {0} may approve {1}.",
    "{0} 역할인 사람만 승인할 수 있어요. 거절은 할 수 있어요.",
  ],
  [
    "Two people approve {0}, and it is not known who says this yes.",
    "두 사람이 승인해야 하는데 누가 승인하는지 알 수 없어요. 자기 토큰으로 답해 주세요.",
  ],
  [
    "Your yes to {0} is kept; another person's is needed.",
    "이미 승인했어요. 다른 한 사람이 더 승인해야 해요.",
  ],
  ["The escalation {0} is {1} already.", "이미 결정이 끝났어요. 바뀐 것은 없어요."],
  [
    "The approval for {0} was used before.",
    "{0}에 대한 승인은 이미 썼어요. 승인은 한 번만 쓸 수 있으니 다시 물어봐 주세요.",
  ],
  ["{0} was approved, but {1} did not call it.", "{0}을(를) 승인했지만 {1}이(가) 부르지 않았어요."],

  [
    "The name holds nothing that people can read, or signs that they cannot see.",
    "사람이 읽을 수 있는 글자로 이름을 적어 주세요.",
  ],
  ["Choose a name of plain letters.", "보이지 않는 글자는 쓸 수 없어요."],

  // --- rooms
  [
    'Deeds {0} and {1}: both are "{2}".',
    "`{0}` 일과 `{1}` 일이 같은 말(`{2}`)로 불려요. 둘 중 하나의 `says`나 `names`에서 빼 주세요.",
  ],
  [
    "No platform {0} posts to this team.",
    "이 팀은 {0}에 연결되어 있지 않아요. 팀의 메신저는 `rooms.adapters`에 적혀 있어요.",
  ],
  [
    'More than one platform has the room "{0}".',
    "`{0}` 방이 여러 메신저에 있어요. `discord:{0}`처럼 메신저까지 적어 주세요.",
  ],
  ["The message {0} is deleted.", "지운 메시지예요. 새로 써 주세요. ({0})"],
  ['"{0}" is no emoji.', "`{0}`은(는) 이모지가 아니에요. 👍처럼 하나만 보내 주세요."],
  ["The message {0} is not yours.", "자기가 쓴 메시지만 고치거나 지울 수 있어요. ({0})"],
  ["The adapter of {0} has not been started.", "{0} 메신저의 연결이 아직 시작되지 않았어요."],
  [
    "The chat adapter of {0} could not be made: {1}",
    "{0} 메신저의 어댑터를 만들지 못했어요. 설정과 환경 변수를 확인해 주세요: {1}",
  ],
  [
    "One platform has adapters of {0}.",
    "한 메신저에 어댑터가 여러 종류예요({0}). 메신저마다 `chatPlatform()`을 따로 만들어 주세요.",
  ],
  [
    "{0} is on {1}; people write there themselves.",
    "{0}은(는) {1}에 있는 방이에요. 그곳에서 써 주세요.",
  ],
  ["{0} is closed: {1}.", "{0} 방은 닫혔어요. 이유는 그 방을 열면 위쪽에 보여요."],
  ["{0} takes no part in {1}.", "{0}은(는) {1} 스레드에 없어요."],

  // --- turns and money
  [
    "The budget of the team {0} is {1}; {2} are left, and this call may need {3}.",
    "팀의 예산 {1} 가운데 {2}이(가) 남았는데, 이번 호출에 {3}까지 들 수 있어요({0}). 비용 화면에서 한도를 확인해 주세요.",
  ],
  [
    "The budget of all agents {0} is {1}; {2} are left, and this call may need {3}.",
    "모든 에이전트의 예산 {1} 가운데 {2}이(가) 남았는데, 이번 호출에 {3}까지 들 수 있어요({0}). 비용 화면에서 한도를 확인해 주세요.",
  ],
  [
    "The budget of the agent {0} {1} is {2}; {3} are left, and this call may need {4}.",
    "{0} 에이전트의 예산 {2} 가운데 {3}이(가) 남았는데, 이번 호출에 {4}까지 들 수 있어요({1}). 비용 화면에서 한도를 확인해 주세요.",
  ],
  [
    "The budget of the {0} {1} is {2}; {3} are left, and this call may need {4}.",
    "{0} {1}의 예산 {2} 가운데 {3}이(가) 남았는데, 이번 호출에 {4}까지 들 수 있어요. 계획의 예산을 늘리거나 일을 작게 나눠 주세요.",
  ],
  [
    "The budget of {0} is {1}; {2} are left, and this call may need {3}.",
    "{0}의 예산 {1} 가운데 {2}이(가) 남았는데, 이번 호출에 {3}까지 들 수 있어요.",
  ],
  ["{0} did not answer within {1} ms.", "{0}이(가) {1} ms 안에 답하지 않았어요."],
  ["The service {0} did not finish within {1} ms.", "{0} 서비스가 {1} ms 안에 끝내지 않았어요."],
  [
    "The message could not be stored within {0} ms.",
    "{0} ms 안에 메시지를 저장하지 못했어요. 다시 보내 주세요. 두 번 저장되지 않아요.",
  ],
  ["The stage {0} cannot be followed by {1}.", "{0} 단계 다음에 {1} 단계로 갈 수 없어요."],
  ["From {0} the machine allows: {1}.", "{0}에서 갈 수 있는 단계: {1}"],
  ["{0} does not fit: {1}: {2}.", "{0}이(가) 정해진 꼴과 맞지 않아요: {1}: {2}"],
  ["{0} ended without DONE.", "{0}이(가) 답을 끝맺지 않았어요. 서비스의 코드를 봐 주세요."],
  [
    "{0} yielded an event of the type {1}.",
    "{0}이(가) 모르는 이벤트 {1}을(를) 보냈어요. 서비스의 코드를 봐 주세요.",
  ],
  [
    "The turn {0} was begun {1} times and never reached its end.",
    "이 턴을 {1}번 시작했지만 끝내지 못했어요. 무엇이 서버를 껐는지 서버 로그를 봐 주세요.",
  ],
  ["{0} was called without a key.", "서비스가 {0} 도구를 키 없이 불렀어요."],
  [
    'Say what the call is about: turn.call("{0}", tool, input, { key: [order.id] }).',
    '`turn.call("{0}", tool, input, { key: [order.id] })`처럼 무엇에 대한 일인지 적어 주세요.',
  ],
  [
    "{0} was asked for under the key {1} with other arguments.",
    "{0}을(를) 같은 키 {1}(으)로, 다른 내용으로 다시 불렀어요.",
  ],
  ["The probe of {0} did not answer.", "{0}이(가) 처리됐는지 확인하지 못했어요."],
  [
    "{0} did not happen, and after the stop it is not tried again.",
    "{0}은(는) 실행되지 않았고, 멈춘 뒤라 다시 하지 않아요.",
  ],
  ["A replay does not store ({0}).", "다시 실행하는 동안에는 저장하지 않아요({0})."],
  [
    'The replay came to "{0}", which the stored turn did not do.',
    "처음에 하지 않은 일(`{0}`)을 하려고 해서, 다시 실행을 여기서 멈췄어요.",
  ],
  [
    "The replay took longer than {0} s.",
    "다시 실행이 {0}초를 넘겨서 멈췄어요. 더 빠른 모델로 해 보세요.",
  ],
  [
    "The turn {0} asked no model at place {1}.",
    "이 턴은 {1}에서 모델을 부르지 않았어요. 흐름에서 모델 호출을 골라 주세요.",
  ],
  [
    "{0} replays run here already.",
    "다시 실행이 이미 {0}개 돌고 있어요. 하나가 끝난 뒤에 다시 시도해 주세요.",
  ],
  ['"{0}" is no arithmetic expression.', "`{0}`은(는) 계산할 수 없는 식이에요."],
  ['"{0}" is no arithmetic expression{1}.', "`{0}`은(는) 계산할 수 없는 식이에요{1}."],
  ['"{0}" has no finite value.', "`{0}`의 값을 구할 수 없어요. 0으로 나누지 않았나요?"],
  [
    "{0} redirects to {1}; that is not followed.",
    "{0}에서 {1} 주소로 옮겨 가라고 했지만 따라가지 않았어요. 그 주소가 맞으면 설정에 직접 적어 주세요.",
  ],
  [
    "The request has more than one header {0}.",
    "요청에 {0} 헤더가 여러 개예요. 한 번만 보내 주세요.",
  ],
  ["{0} redirects more than {1} times.", "{0} 주소가 {1}번 넘게 옮겨져서 읽지 않았어요."],
  ["{0} is no public address.", "{0}은(는) 공개된 주소가 아니라 읽지 않았어요."],

  // --- other servers
  [
    "The agent {0} at {1} cannot be reached: {2}.",
    "{1}에 있는 {0} 에이전트에 닿지 않아요: {2} 그 서버와 주소를 확인해 주세요.",
  ],
  [
    "The service {0} at {1} cannot be reached: {2}.",
    "{1}에 있는 {0} 서비스에 닿지 않아요: {2} 그 서버와 주소를 확인해 주세요.",
  ],
  [
    "The agent {0} offers {1}; dure speaks A2A 1.x over JSONRPC.",
    "{0} 에이전트는 {1}(으)로 말해요. dure는 JSON-RPC의 A2A 1.x로 말해요.",
  ],
  [
    "The database does not answer: {0}.",
    "데이터베이스가 답하지 않아요. 잠시 뒤에 다시 시도해 주세요.",
  ],
  ["The database at {0} does not answer: {1}.", "{0}의 데이터베이스가 답하지 않아요."],
  ["A token or a login is needed here: {0}.", "로그인해야 볼 수 있어요: {0}"],
  [
    "There is nothing at {0}.",
    "서버에 없는 주소예요: {0} 화면과 서버의 버전이 다를 수 있으니 새로 고쳐 주세요.",
  ],
  [
    "The answer of {0} is not JSON: {1}.",
    "{0}의 답을 읽을 수 없어요: {1} 주소가 두레 서버의 것인지 확인해 주세요.",
  ],
  ['"{0}" is no address of a server.', "`{0}`은(는) 서버의 주소가 아니에요."],
  [
    "{0}: {1} connections failed in a row, the last one because {2}.",
    "연결이 {1}번 이어서 끊겼어요. 마지막 이유: {2}",
  ],

  // --- jobs
  [
    "{0} did not answer turn {1} within {2} s.",
    "{0} 에이전트가 {1}번째 턴에 {2}초 안에 답하지 않았어요.",
  ],
  ["The work of {0} may use {1}, and has used it.", "{0}의 일에 쓸 수 있는 {1}을(를) 다 썼어요."],
  ["No agent answered: {0}", "에이전트가 답하지 못했어요: {0}"],
  ["A job that is {0} cannot become {1}.", "`{0}` 상태의 일은 `{1}` 상태가 될 수 없어요."],
  [
    "The job {0} is {1}; no worker listens any more.",
    "이 일은 `{1}` 상태로 끝나서 더 듣지 않아요. 새로 맡기거나 다시 시작해 주세요.",
  ],
  ["The last turn of the job {0} is being stopped.", "일의 마지막 턴을 멈추는 중이에요."],
  ["The job {0} was cancelled.", "취소한 일이에요."],
  ["The job {0} was stopped by a person.", "사람이 멈춘 일이에요."],
  [
    "What the last turn of the job {0} has done cannot go on.",
    "마지막 턴에서 이미 처리한 일이 있어서 이어서 할 수 없어요.",
  ],
  [
    "{0} called {1} with the same result, {2} times.",
    "에이전트가 같은 도구를 같은 결과로 {2}번 불렀어요.",
  ],
  [
    "{0} called tools and never answered, {1} times.",
    "에이전트가 도구만 {1}번 부르고 답하지 않았어요.",
  ],
  ["The job {0} is {1}.", "맡긴 일이 `{1}` 상태예요."],
  [
    "The next turn of {0} is told {1} texts of {2} bytes together at most.",
    "다음 턴에는 말을 {1}개, 모두 {2}바이트까지 전할 수 있어요. 잠시 뒤에 하거나 줄여서 말해 주세요.",
  ],
  [
    "This request would be more than {0} requests deep.",
    "일은 {0}단계까지만 이어서 맡길 수 있어요.",
  ],
  [
    "The work that this request belongs to has {0} jobs already.",
    "이 일에서 나온 일이 이미 {0}개예요. 따로 맡겨 주세요.",
  ],
];
