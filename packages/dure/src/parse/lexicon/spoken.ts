import { fold, tokensOf, withoutEchoes } from "../text.ts";

/**
 * The words of a message as they are compared with the lexicon: folded, without crying and laughing,
 * with one spelling for each ending of chat (`취소할게용` is 취소할게요, `noooo` is no). Pure.
 */
export function spokenWords(text: string): string[] {
  return tokensOf(withoutFaces(withoutEchoes(fold(text))))
    .flatMap((token) => token.replace(GLUED_ANSWER, "$1 ").split(" "))
    .map(inOneSpelling)
    .filter((token) => !/^[ㅠㅜㅋㅎ]*$/u.test(token));
}

/** Without friendly faces of signs: ^^, :). Pure. */
export function withoutFaces(folded: string): string {
  return folded.replaceAll(FACES, " ");
}

const FACES = /\^[_.-]?\^|[:=]-?[)d](?![\p{L}\p{N}])/gu;

/** 네보내주세요, ㄴㄴ취소, ㅇㅋㄱㄱ: an answer and what it asks for, without the space. */
const GLUED_ANSWER =
  /^(네|넵|넹|예|응|웅|ㅇㅇ|ㅇㅋ|오케이|오키|그래|아|아니|아니요|ㄴㄴ)(?=보내|진행|이체|송금|승인|해 ?줘|해 ?주|취소|그만|하지|ㄱㄱ|고고)/u;

function inOneSpelling(token: string): string {
  return token
    .replace(LAUGHTER, "")
    .replace(SAID_OFTEN, "$1$1")
    .replace(DRAWN_OUT, "$1")
    .replace(CUTE, "요")
    .replace(/(?<=[할낼둘볼올갈])께(?=요?$)/u, "게")
    .replace(/줭$/u, "줘");
}

const LAUGHTER = /(?<=[가-힣a-z])[ㅠㅜㅋㅎ]{1,50}$/u;
/** 네네네네: as often as it is said, it is said twice. */
const SAID_OFTEN = /^(.{1,3}?)\1{2,100}$/u;
/** yesss, nooo. */
const DRAWN_OUT = /([a-z])\1{2,50}/gu;
/** Endings of chat: 취소할게용, 보내주세여. Not 허용, 내용. */
const CUTE = /(?<=[가-힣])(?<!^[허내비사이적])(?:용|여|염|욤|욥)$/u;
