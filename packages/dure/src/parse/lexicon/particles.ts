/** Korean particles around a name: who is meant, who only stands near, and what follows in one word. */

/** What may follow a Korean name in its word. */
export const BEHIND_A_NAME =
  /^(?:님|씨|놈|녀석)?(?:에게서|한테서|에게|한테|께서|께|앞으로|으로|로|이랑|랑|하고|와|과|은|는|이|가|을|를|도|만|의|요|이요|이야|야|이?었(?:어요?|다|네요?|지|는데)|였(?:어요?|다|네요?|지|는데)|이?고요?|이?라고요?|임|인데요?|입니다|이에요|예요|꺼|거|네){0,3}(?:로|도|는|만|다|다가|요)?(?:보내|이체|송금|입금|부쳐|쏴|줘|\d|$)/u;

/** Behind these a name may begin without a space: 아니엄마한테. */
export const BEFORE_A_NAME =
  /(?:아니|내일|오늘|모레|그럼|그냥|우리|울|랑|하고|한테|에게|\d만|원)$/u;

/** From whom, and so not to whom: 엄마한테서. */
export const SOURCE = /(?:한테서|에게서|께서|로부터)(?:만|도|는)?$/u;
/** To whom: 엄마한테, 아빠껜. */
export const DATIVE =
  /^(.+?)(?:(?:에게|한테|께|앞으로)(?:로|도|두|는|만|다|다가)?|한텐|에겐|껜|께선)$/u;
/** 매일유업에, 아빠로 바꿔줘 */
export const PLACE = /^([가-힣]{2,12})에$|^([가-힣]{2,12}?)(?:으로|(?<![블를드티])로)$/u;
